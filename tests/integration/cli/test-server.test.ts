/** `kcp test-server` and `kcp generate types` as users run them: processes, a kubeconfig, files. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const kcp = fileURLToPath(new URL("../../../../packages/cli/bin/kcp.mjs", import.meta.url));
const root = fileURLToPath(new URL("../../../..", import.meta.url));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(file, args, { timeout: 180_000, cwd: root }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
    });
  });
}

const runKcp = (...args: readonly string[]) => run(process.execPath, [kcp, ...args]);

describe("kcp test-server", () => {
  it("runs a command against a server of its own and ends as it does", async () => {
    const script =
      "console.log(JSON.stringify({ k: process.env.KUBECONFIG, e: process.env.USE_EXISTING_CLUSTER })); process.exit(7);";
    const { code, stdout } = await runKcp("test-server", "--", process.execPath, "-e", script);
    assert.equal(code, 7);
    const { k, e } = JSON.parse(stdout) as { k: string; e: string };
    assert.equal(e, "true");
    assert.equal(existsSync(k), false, "the kubeconfig is gone with the server");
  });

  it("says when the command cannot be run", async () => {
    const { code, stderr } = await runKcp("test-server", "--", "/no/such/command");
    assert.equal(code, 1);
    assert.match(stderr, /cannot run \/no\/such\/command/);
  });

  it("refuses files without definitions", async () => {
    const args = ["test-server", "--crds", "package.json", "--", "true"];
    const { code, stderr } = await runKcp(...args);
    assert.equal(code, 1);
    assert.match(stderr, /package\.json has a document without apiVersion and kind/);
  });
});

describe("kcp generate types", () => {
  it("writes types that compile, from a cluster and from a file", async (t) => {
    const out = fileURLToPath(new URL("generated-types", import.meta.url));
    await rm(out, { recursive: true, force: true });
    t.after(() => rm(out, { recursive: true, force: true }));
    const generate = ["generate", "types", "--out", out];
    const fromServer = await runKcp("test-server", "--", process.execPath, kcp, ...generate);
    assert.equal(fromServer.code, 0, fromServer.stderr);
    const fromFile = await runKcp(...generate, "--file", "examples/website.crd.yaml");
    assert.equal(fromFile.code, 0, fromFile.stderr);
    const files = await readdir(out, { recursive: true });
    for (const path of ["core/v1/config-map.ts", "example.com/v1/website.ts"]) {
      assert.ok(files.includes(path), path);
    }
    await mkdir(out, { recursive: true });
    await writeFile(`${out}/use.ts`, use);
    await writeFile(`${out}/tsconfig.json`, JSON.stringify(config));
    const compiled = await run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", out]);
    assert.equal(compiled.stdout, "");
    assert.equal(compiled.code, 0);
  });

  it("says which kind is not there", async () => {
    const args = ["--file", "examples/website.crd.yaml", "--kind", "Website", "Nothing"];
    const { code, stderr } = await runKcp("generate", "types", ...args);
    assert.equal(code, 1);
    assert.match(stderr, /there is no kind Nothing/);
  });
});

const use = `
import type { Client } from "kcp-ts/sdk";
import { configMaps } from "./core/v1/config-map.ts";
import { websites } from "./example.com/v1/website.ts";
export async function use(client: Client): Promise<string> {
  const { data } = await client.resource(configMaps).get({ namespace: "a", name: "b" });
  // @ts-expect-error: a title is text.
  await client.resource(websites).create({ metadata: { name: "a" }, spec: { title: 1 } });
  return data?.["x"] ?? "";
}
`;

const config = {
  extends: "../../../../../tsconfig.base.json",
  compilerOptions: {
    noEmit: true,
    composite: false,
    declaration: false,
    declarationMap: false,
    allowImportingTsExtensions: true,
  },
  include: ["**/*.ts"],
};
