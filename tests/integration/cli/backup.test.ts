/**
 * `kcp backup` and `kcp restore` as commands; what they do in detail is tested with the code that
 * does it.
 */
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { connect, loadKubeconfig } from "@kcp-ts/sdk";
import { namespaces } from "@kcp-ts/sdk/kinds";
import { runKcp, startKcp, temporaryFolder } from "./kcp-process.ts";

async function createNamespace(kubeconfig: string): Promise<void> {
  const connection = connect(await loadKubeconfig({ path: kubeconfig }));
  await connection.client.resource(namespaces).create({ metadata: { name: "kept" } });
  await connection.close();
}

describe("the commands backup and restore", () => {
  it("move a running server's data to another place", async (t) => {
    const folder = await temporaryFolder(t);
    const [first, second] = [join(folder, "first"), join(folder, "second")];
    const file = join(folder, "backup");
    const kcp = await startKcp(first);
    await createNamespace(kcp.kubeconfig);
    const saved = await runKcp("backup", "--root-directory", first, "--out", file, "-o", "json");
    assert.equal(saved.code, 0, saved.stderr);
    const summary = JSON.parse(saved.stdout) as { source: string; entries: number };
    assert.equal(summary.source, "server");
    assert.ok(summary.entries > 0);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal(await kcp.stop(), 0);

    const restored = await runKcp("restore", "--root-directory", second, "--from", file);
    assert.equal(restored.code, 0, restored.stderr);
    assert.equal(restored.stdout, "", "prose goes to stderr");
    assert.match(restored.stderr, new RegExp(`^restored ${summary.entries} objects of `));
    const again = await runKcp("restore", "--root-directory", second, "--from", file);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /^kcp: .*second\/data already holds data: restore into another/);
    assert.equal(await (await startKcp(second)).stop(), 0);
  });

  it("say what is wrong", async (t) => {
    const folder = await temporaryFolder(t);
    const missing = join(folder, "missing");
    for (const [args, message] of [
      [["backup", "--root-directory", missing, "--out", join(folder, "b")], /there is no data in/],
      [["backup", "--kubeconfig", missing, "--out", join(folder, "b")], /missing does not exist/],
      [
        ["restore", "--root-directory", folder, "--from", missing],
        /cannot read .*missing: there is/,
      ],
    ] as const) {
      const { code, stderr } = await runKcp(...args);
      assert.equal(code, 1);
      assert.match(stderr, message);
      assert.equal(stderr.trim().split("\n").length, 1, stderr);
    }
  });
});
