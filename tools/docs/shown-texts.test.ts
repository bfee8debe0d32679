/**
 * Goal: manifests and commands in documents work as they stand there. Method: a server is asked
 * whether it would take every manifest, unknown fields refused; `kcp` is asked for the flags of
 * every command that is shown.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { encryptStorage, tracerOf } from "@kcp-ts/apiserver";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { type Manifest, parseManifests } from "@kcp-ts/controlplane";
import { systemClock } from "@kcp-ts/machinery/base";
import { RestMapper } from "@kcp-ts/sdk";
import { apisV1alpha1ApiExports, workspaces } from "@kcp-ts/sdk/kinds";
import { startSimulatedCluster } from "@kcp-ts/simulator";
import { startTestControlPlane } from "@kcp-ts/testing";
import { codeBlocks } from "./code-blocks.ts";

const run = promisify(execFile);

const documents = ["README.md", ...(await readdir("docs/guides")).map((it) => `docs/guides/${it}`)];
const texts = await Promise.all(
  documents.map(async (path) => [path, await readFile(path, "utf8")] as const),
);

describe("manifests in documents", () => {
  /** Files of `kcp start`, which no server stores. */
  const files = new Set([
    ...["AuthenticationConfiguration", "EncryptionConfiguration", "TracingConfiguration", "Policy"],
  ]);

  it("are taken by a server, every field of them known", async (t) => {
    const k = await startTestControlPlane({ controlLoops: false });
    t.after(() => k.close());
    // Slices are of exports that are there.
    await k.client.resource(workspaces).create({ metadata: { name: "provider" } });
    const provider = k.clientFor("root:provider");
    await provider.resource(apisV1alpha1ApiExports).create({ metadata: { name: "cowboys" } });
    // What a logical cluster serves only when clusters are registered is asked of one of those.
    const physical = await startSimulatedCluster({ name: "physical", nodes: 0 });
    t.after(() => physical.close());
    const servers = [k.client, physical.client].map((client) => ({
      client,
      mapper: new RestMapper(client),
    }));
    const shown: string[] = [];
    for (const [path, text] of texts) {
      for (const block of codeBlocks(path, text, ["yaml"])) {
        for (const manifest of parseManifests(block.text, block.place)) {
          shown.push(manifest.kind);
          if (!files.has(manifest.kind)) await wouldBeTaken(manifest, block.place);
        }
      }
    }
    assert.ok(shown.length > 5, shown.join());

    async function wouldBeTaken(manifest: Manifest, place: string): Promise<void> {
      const { apiVersion, kind } = manifest;
      const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
      const options = { dryRun: true, fieldValidation: "Strict" } as const;
      for (const { client, mapper } of servers) {
        const resource = await mapper.resourceOf({ group: group ?? "", version, kind });
        if (resource === undefined) continue;
        // As kubectl does it for what does not say.
        const namespace = resource.namespaced ? { namespace: "default" } : {};
        const metadata = { ...namespace, ...(manifest["metadata"] as object) };
        const object = { ...manifest, metadata };
        const created = client.resource(resource).create(object as never, options);
        await assert.doesNotReject(created, place);
        return;
      }
      assert.fail(`${place}: nobody serves ${apiVersion} ${kind}`);
    }
  });
});

const reversing = {
  encrypt: async (key: Uint8Array) => ({ ciphertext: Buffer.from(key).reverse() }),
  decrypt: async (key: Uint8Array) => Buffer.from(key).reverse(),
};

describe("files of kcp start in documents", () => {
  const blocks = texts.flatMap(([path, text]) => codeBlocks(path, text, ["yaml"]));

  it("a TracingConfiguration is read", () => {
    const shown = blocks.filter(({ text }) => text.includes("kind: TracingConfiguration"));
    assert.ok(shown.length > 0, "one is shown");
    const log = { warn: () => undefined };
    for (const { text } of shown) assert.ok(tracerOf(text, { clock: systemClock, log }));
  });

  it("an EncryptionConfiguration is read", async () => {
    const shown = blocks.filter(({ text }) => text.includes("kind: EncryptionConfiguration"));
    assert.ok(shown.length > 0, "one is shown");
    const ignore = () => undefined;
    for (const { text, place } of shown) {
      const log = { info: ignore, error: ignore };
      // A plug-in is asked for a key at the start, and none listens here.
      const keyServices = new Map([["vault", reversing]]);
      const settings = { config: text, clock: systemClock, log, keyServices };
      await assert.doesNotReject(async () => {
        const storage = await encryptStorage(new MemoryStorage(), settings);
        await storage.close();
      }, place);
    }
  });
});

describe("commands in documents", () => {
  const commands = texts.flatMap(([path, text]) =>
    codeBlocks(path, text, ["sh", "console", ""]).flatMap((block) => kcpCommands(block.text)),
  );

  it("have the flags that kcp has", async () => {
    assert.ok(commands.length > 10, "commands are shown");
    const flags = new Map<string, Set<string>>();
    for (const { verb, line } of commands) {
      const shown = flags.get(verb) ?? new Set();
      for (const [flag] of line.matchAll(/--[a-z][a-z0-9-]*/g)) shown.add(flag);
      flags.set(verb, shown);
    }
    for (const [verb, shown] of flags) {
      const help = await helpOf(verb);
      for (const flag of shown) {
        assert.match(help, new RegExp(`${flag}(?![a-z0-9-])`), `kcp ${verb} ${flag}`);
      }
    }
  });

  it("are found with what belongs to them, and nothing else", () => {
    const text =
      "npx kcp-ts start --a 1 \\\n  --b   # not --c\nkcp test-server -- go test --d\nkubectl kcp bind --e\n$ kcp generate types --f\n";
    assert.deepEqual(kcpCommands(text), [
      { verb: "start", line: "npx kcp-ts start --a 1    --b   " },
      { verb: "test-server", line: "kcp test-server" },
      { verb: "generate types", line: "$ kcp generate types --f" },
    ]);
  });
});

function kcpCommands(text: string): { verb: string; line: string }[] {
  return text
    .replaceAll("\\\n", " ")
    .split("\n")
    .flatMap((whole) => {
      const line = whole.replace(/ -- .*| --$/, "").replace(/#.*/, "");
      const verb = /^\s*(?:\$ )?(?:npx )?kcp(?:-ts)? (generate types|[a-z][a-z-]*)/.exec(line)?.[1];
      return verb === undefined ? [] : [{ verb, line }];
    });
}

async function helpOf(verb: string): Promise<string> {
  const argv = JSON.stringify(["node", "kcp", ...verb.split(" "), "--help"]);
  const script = `import("./packages/cli/dist/main.js").then(({ main }) => main(${argv}))`;
  return (await run(process.execPath, ["-e", script], { timeout: 180_000 })).stdout;
}
