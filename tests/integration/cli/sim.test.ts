/** `kcp sim` as users run it: a process, kubeconfigs in files, an end by signal. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { runKcp, temporaryFolder } from "./kcp-process.ts";

const kcp = fileURLToPath(new URL("../../../../packages/cli/bin/kcp.mjs", import.meta.url));

describe("kcp sim", () => {
  it("writes a kubeconfig for each cluster, prints the next commands to type, and ends on a signal", async (t) => {
    const folder = await temporaryFolder(t);
    const child = await startSim(t, folder, "ready");
    for (const name of ["east", "west"]) {
      const text = await readFile(`${folder}/${name}.kubeconfig`, "utf8");
      const config = JSON.parse(text) as { "current-context": string; clusters: unknown[] };
      assert.equal(config["current-context"], name);
      assert.match(text, /"server": "https:\/\/127\.0\.0\.1:\d+"/);
    }
    assert.equal(await terminate(child), 0);
  });

  it("shuts down gracefully on a signal in the middle of its start", async (t) => {
    const child = await startSim(t, await temporaryFolder(t), "east serves");
    assert.equal(await terminate(child), 0);
  });

  it("refuses names that cannot be those of clusters, and releases that it does not know", async () => {
    for (const args of [
      ["--names", "Not_A_Name"],
      ["--generation", "1.2"],
      ["--clusters", "33"],
      ["--nodes", "1001"],
    ]) {
      const { code, stderr } = await runKcp("sim", ...args);
      assert.equal(code, 2, stderr);
    }
  });
});

/** Two clusters, as soon as one of its lines begins so. */
async function startSim(t: TestContext, folder: string, line: string): Promise<ChildProcess> {
  const args = ["sim", "--names", "east", "west", "--nodes", "1", "--out-directory", folder];
  const child = spawn(process.execPath, [kcp, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  for await (const said of createInterface({ input: child.stderr }))
    if (said.startsWith(line)) break;
  child.stderr.resume();
  return child;
}

async function terminate(child: ChildProcess): Promise<number | null> {
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  const [code] = (await exit) as [number | null];
  return code;
}
