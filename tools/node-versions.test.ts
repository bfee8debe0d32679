/**
 * The packed package on other versions of Node.js: a control plane starts, a client writes over
 * TLS, a restart on the same directory reads it, and the test server answers. `NODES` names the
 * binaries, separated as in `PATH`; the Node.js of this process is always one of them.
 */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { writePackage } from "./package-files.ts";

const run = promisify(execFile);
const supported = ["20.19", "22", "24", "26"];
const given = (process.env["NODES"] ?? "").split(delimiter).filter((path) => path !== "");
const binaries = [process.execPath, ...given].map((path) => ({
  path,
  version: execFileSync(path, ["--version"], { encoding: "utf8" }).trim().slice(1),
}));
const missing = supported.filter((wanted) =>
  binaries.every(({ version }) => !version.startsWith(`${wanted}.`)),
);

const program = `
import { controlPlaneDefaults, createLog, startControlPlane } from "kcp-ts";
import { configMaps } from "kcp-ts/kinds";
import { connect, loadKubeconfig } from "kcp-ts/sdk";
import { startTestControlPlane } from "kcp-ts/testing";

const log = createLog({ format: "json", verbosity: 0 });
const options = {
  ...controlPlaneDefaults,
  rootDirectory: process.argv[2],
  bindAddress: "127.0.0.1",
  securePort: 0,
};
async function withServer(body) {
  const server = await startControlPlane(options, { log });
  const connection = connect(await loadKubeconfig({ path: server.kubeconfigPath }));
  try {
    return await body(connection.client.resource(configMaps));
  } finally {
    await connection.close();
    await server.stop();
  }
}
const metadata = { name: "kept", namespace: "default" };
await withServer((resource) => resource.create({ metadata, data: { from: "before" } }));
const { data } = await withServer((resource) => resource.get(metadata));
const k = await startTestControlPlane();
await k.client.resource(configMaps).create({ metadata });
await k.close();
console.log(data.from);
`;

describe("the package", () => {
  let project = "";
  before(async () => {
    project = await mkdtemp(join(tmpdir(), "kcp-nodes-"));
    const modules = join(project, "node_modules");
    await mkdir(modules);
    await writePackage({ folder: join(modules, "kcp-ts") });
    for (const name of ["classic-level", "abstract-level", "module-error"])
      await symlink(resolve("node_modules", name), join(modules, name));
    await writeFile(join(project, "package.json"), '{ "type": "module" }');
    await writeFile(join(project, "main.js"), program);
  });
  after(() => rm(project, { recursive: true, force: true }));

  for (const [at, { path, version }] of binaries.entries())
    it(`serves, keeps and reads on Node.js ${version}`, { timeout: 120_000 }, async () => {
      const directory = join(project, `root-${at}`);
      const { stdout, stderr } = await run(path, [join(project, "main.js"), directory]);
      assert.equal(stderr, "");
      assert.equal(stdout, "before\n");
    });

  for (const version of missing)
    it(`serves, keeps and reads on Node.js ${version}`, (t) =>
      t.skip(`NODES names no Node.js ${version}`));
});
