/**
 * The packed package in other runtimes: the client core in a browser's bundle, in Bun and in Deno,
 * and a controller and a control plane inside a test in Bun and Deno. A runtime that is not at hand
 * is skipped by its name; `BUN` and `DENO` say where one is.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { parseKubeconfig } from "@kcp-ts/sdk";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing";
import { build } from "esbuild";
import { writePackage } from "./package-files.ts";

const exec = promisify(execFile);
let folder = "";
let k: TestControlPlane;
let env: Readonly<Record<string, string>>;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kcp-ts-runtimes-"));
  await mkdir(join(folder, "node_modules"));
  await writePackage({ folder: join(folder, "node_modules", "kcp-ts") });
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "core.js"), core);
  await writeFile(join(folder, "controller.js"), controller);
  await writeFile(join(folder, "testing.js"), testing);
  k = await startTestControlPlane();
  const text = await k.kubeconfig();
  const { clusters, users } = parseKubeconfig(text, { trust: "inline" });
  const [cluster] = [...clusters.values()];
  const [user] = [...users.values()];
  const authority = cluster?.certificateAuthority;
  assert.ok(cluster !== undefined && authority !== undefined && "data" in authority);
  const [config, ca] = [join(folder, "kubeconfig"), join(folder, "ca.pem")];
  await writeFile(config, text);
  await writeFile(ca, authority.data);
  env = {
    KUBECONFIG: config,
    NODE_EXTRA_CA_CERTS: ca,
    DENO_CERT: ca,
    ORIGIN: new URL(cluster.server).origin,
    TOKEN: user?.token ?? "",
  };
});
after(async () => {
  await k.close();
  await rm(folder, { recursive: true, force: true });
});

/** Lists, writes and watches over `fetch`, and nothing of Node. */
const core = `
import { Client, FetchTransport, Informer, rootCluster } from "kcp-ts/client";
import { configMaps } from "kcp-ts/kinds";

const { ORIGIN: origin, TOKEN: token } = globalThis.process?.env ?? {};
const transport = new FetchTransport({ origin, headers: () => ({ authorization: "Bearer " + token }) });
const client = new Client({ transport, basePath: "/clusters/root" });
const informer = new Informer({ client, resource: configMaps, scope: { cluster: rootCluster } });
const stop = new AbortController();
const running = informer.run(stop.signal);
await informer.synced();
const name = "core-" + Math.random().toString(36).slice(2);
const seen = new Promise((resolve) => informer.addHandler({
  added: (object) => object.metadata.name === name && resolve(object.data.a),
}));
await client.resource(configMaps).create({ metadata: { name, namespace: "default" }, data: { a: "seen" } });
console.log(await seen);
stop.abort();
await running;
`;

/** Labels ConfigMaps over node:http2, from a kubeconfig. */
const controller = `
import { configMaps } from "kcp-ts/kinds";
import { connectDefault, controllerFor, run, silentLog } from "kcp-ts/sdk";

const { client, close } = await connectDefault();
const stop = new AbortController();
const name = "run-" + Math.random().toString(36).slice(2);
const labels = controllerFor(configMaps).reconcile(async ({ metadata }, { client }) => {
  if (metadata.name !== name) return;
  if (metadata.labels?.seen === "yes") return stop.abort();
  const patch = { metadata: { labels: { seen: "yes" } } };
  await client.resource(configMaps).patch(metadata, { type: "merge", patch });
});
const running = run({ clusters: client, controllers: [labels], signal: stop.signal, log: silentLog });
await client.resource(configMaps).create({ metadata: { name, namespace: "default" } });
await running;
console.log((await client.resource(configMaps).get({ name, namespace: "default" })).metadata.labels.seen);
await close();
`;

/** A server in the process, a controller, and a crash after each of its writes. */
const testing = `
import { configMaps, secrets } from "kcp-ts/kinds";
import { controllerFor, run, silentLog } from "kcp-ts/sdk";
import { exploreFaults } from "kcp-ts/testing";

const copies = controllerFor(configMaps, { name: "copies", selector: { labelSelector: "copy" } })
  .reconcile(async ({ metadata: { name, namespace }, data }, { client }) => {
    await client.resource(secrets).apply({ metadata: { name, namespace }, stringData: data });
  });
const { runs } = await exploreFaults(async ({ client, runController, eventuallyStable }) => {
  runController((clusters, signal) => run({ clusters, controllers: [copies], signal, log: silentLog }));
  const metadata = { name: "a", namespace: "default", labels: { copy: "yes" } };
  await client.resource(configMaps).create({ metadata, data: { b: "c" } });
  await eventuallyStable(() => client.resource(secrets).get(metadata));
});
console.log(runs > 8);
`;

async function find(variable: string, name: string): Promise<string | undefined> {
  const given = process.env[variable];
  if (given !== undefined) return given;
  const folders = ["node_modules/.bin", ...(process.env["PATH"] ?? "").split(delimiter)];
  for (const one of folders) {
    const path = join(one, name);
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}

const runtimes = [
  { name: "Node", command: async () => process.execPath, args: [] },
  { name: "Bun", command: () => find("BUN", "bun"), args: [] },
  { name: "Deno", command: () => find("DENO", "deno"), args: ["run", "--allow-all"] },
];

describe("the client core", () => {
  it("is bundled for browsers without anything of Node", async () => {
    const { outputFiles } = await build({
      stdin: { contents: core, resolveDir: folder },
      bundle: true,
      platform: "browser",
      format: "esm",
      minify: true,
      write: false,
      logLevel: "silent",
    });
    const [file] = outputFiles;
    assert.ok(file !== undefined);
    assert.doesNotMatch(file.text, /from\\s*"node:/);
    assert.ok(file.contents.length < 150_000, `${file.contents.length} bytes`);
  });

  it("takes of the kinds only those that are imported", async () => {
    const program = 'import { configMaps } from "kcp-ts/kinds"; console.log(configMaps.kind);';
    const { outputFiles } = await build({
      stdin: { contents: program, resolveDir: folder },
      bundle: true,
      platform: "browser",
      format: "esm",
      minify: true,
      write: false,
    });
    assert.ok((outputFiles[0]?.contents.length ?? 0) < 8000);
    assert.doesNotMatch(outputFiles[0]?.text ?? "", /deployments/);
  });
});

for (const { name, command, args } of runtimes) {
  describe(`in ${name}`, () => {
    const programs = [
      ["core.js", "seen", "the client core lists, writes and watches over fetch"],
      ["controller.js", "yes", "a controller reconciles and stops"],
      ["testing.js", "true", "a control plane inside a test explores faults"],
    ] as const;
    for (const [program, expected, title] of programs) {
      it(title, { timeout: 60_000 }, async (t) => {
        const found = await command();
        if (found === undefined) return t.skip(`${name} is not at hand`);
        const { stdout } = await exec(found, [...args, join(folder, program)], {
          env: { ...process.env, ...env },
          timeout: 50_000,
        });
        assert.equal(stdout.trim(), expected);
      });
    }
  });
}
