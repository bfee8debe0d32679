/**
 * Goal: `kcp start --shards` is one command, one port and one kubeconfig for several processes, and
 * the loss of one of them concerns its tenants alone.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { connect, type DynamicObject, defineResource, loadKubeconfig } from "@kcp-ts/sdk";
import { configMaps } from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import { collect, type KcpProcess, runKcp, startKcp, temporaryFolder } from "./kcp-process.ts";

const clusterScoped = (group: string, resource: string, kind: string) =>
  defineResource<DynamicObject>({ group, version: "v1alpha1", resource, kind, namespaced: false });
const workspaces = clusterScoped("tenancy.kcp.io", "workspaces", "Workspace");
const shards = clusterScoped("core.kcp.io", "shards", "Shard");

const plugin = fileURLToPath(
  new URL("../../../../packages/cli/bin/kubectl-kcp.mjs", import.meta.url),
);

/** The processes of its other shards, of which the last one runs. */
const shardProcesses = (kcp: KcpProcess) =>
  kcp.logged("a shard is starting").map(({ pid }) => {
    assert.ok(typeof pid === "number" && pid > 1);
    return pid;
  });

describe("kcp start --shards 2", () => {
  it("serves both shards at one port, and starts one again that is killed while the other serves", async (t) => {
    const root = join(await temporaryFolder(t), "root");
    const kcp = await startKcp(root, "--shards", "2");
    const connection = connect(await loadKubeconfig({ path: kcp.kubeconfig }), {
      context: "shard-base",
    });
    const inRoot = connection.client.inCluster("root");
    try {
      const names = (await inRoot.resource(shards).list()).items.map(
        ({ metadata }) => metadata.name,
      );
      assert.deepEqual(names.sort(), ["root", "shard-1"]);
      for (const [name, shard] of [
        ["here", "root"],
        ["there", "shard-1"],
      ] as const) {
        const location = { selector: { matchLabels: { name: shard } } };
        await inRoot
          .resource(workspaces)
          .create({ metadata: { name }, spec: { location } } as never);
        const maps = connection.client.inCluster(`root:${name}`).resource(configMaps);
        const metadata = { name: "kept", namespace: "default" };
        await eventually(async () => void (await maps.create({ metadata, data: { in: name } })));
      }
      const read = async (name: string) => {
        const maps = connection.client.inCluster(`root:${name}`).resource(configMaps);
        return (await maps.get({ name: "kept", namespace: "default" })).data?.["in"];
      };
      assert.equal(await read("there"), "there");
      const [child = assert.fail("no process of a shard was logged")] = shardProcesses(kcp);
      const isAgain = kcp.output("a shard has ended, and is started again");
      process.kill(child, "SIGKILL");
      await isAgain;
      assert.equal(await read("here"), "here");
      await eventually(async () => assert.equal(await read("there"), "there"));
    } finally {
      await connection.close();
      assert.equal(await kcp.stop(), 0);
      for (const pid of shardProcesses(kcp)) assert.throws(() => process.kill(pid, 0), /ESRCH/);
    }
  });

  it("moves a workspace to another process while it is written and watched, and a watch sees each write once", async (t) => {
    const root = join(await temporaryFolder(t), "root");
    const kcp = await startKcp(root, "--shards", "2");
    const connection = connect(await loadKubeconfig({ path: kcp.kubeconfig }), {
      context: "shard-base",
    });
    const { client } = connection;
    const ended = new AbortController();
    try {
      const status = await runKcp("status", "--root-directory", root);
      assert.match(status.stdout, /✓ shard shard-1 +\S+ reports to root/);
      const location = { selector: { matchLabels: { name: "root" } } };
      await client
        .inCluster("root")
        .resource(workspaces)
        .create({ metadata: { name: "moving" }, spec: { location } } as never);
      const maps = client.inCluster("root:moving").resource(configMaps);
      const at = { namespace: "default" };
      await eventually(async () => void (await maps.list(at)));
      const seen: string[] = [];
      const { metadata } = await maps.list(at);
      const watching = (async () => {
        let { resourceVersion } = metadata;
        while (!ended.signal.aborted)
          for await (const event of maps.watch({ ...at, resourceVersion, signal: ended.signal })) {
            ({ resourceVersion } = event.object.metadata);
            if (event.type === "BOOKMARK") continue;
            const { name = "" } = event.object.metadata;
            if (name.startsWith("map-")) seen.push(`${event.type} ${name}`);
          }
      })();
      const written: string[] = [];
      const moved = new AbortController();
      const writing = (async () => {
        for (let n = 0; !moved.signal.aborted || n < 50; n++) {
          const name = `map-${n}`;
          await maps.create({ metadata: { name, ...at } });
          written.push(name);
        }
      })();
      const args = ["move", "workspace", "root:moving", "--to-shard", "shard-1", "--wait"];
      const env = { ...process.env, KUBECONFIG: kcp.kubeconfig };
      const move = await collect(spawn(process.execPath, [plugin, ...args], { env }));
      moved.abort();
      assert.match(move.stdout, /root:moving moved from root to shard-1/, move.stderr);
      await writing;
      await eventually(async () =>
        assert.deepEqual(
          seen,
          written.map((name) => `ADDED ${name}`),
        ),
      );
      ended.abort();
      await watching;
      const { items } = await maps.list(at);
      const names = items.map((one) => one.metadata.name ?? "");
      assert.deepEqual(names.filter((name) => name.startsWith("map-")).sort(), [...written].sort());
    } finally {
      ended.abort();
      await connection.close();
      assert.equal(await kcp.stop(), 0);
    }
  });
});
