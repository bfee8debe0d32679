/**
 * Goal: `kcp start --shards` is one command, one port and one kubeconfig for several processes, and
 * the loss of one of them concerns its tenants alone.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { connect, type DynamicObject, defineResource, loadKubeconfig } from "@kcp-ts/sdk";
import { configMaps } from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import { type KcpProcess, startKcp, temporaryFolder } from "./kcp-process.ts";

const clusterScoped = (group: string, resource: string, kind: string) =>
  defineResource<DynamicObject>({ group, version: "v1alpha1", resource, kind, namespaced: false });
const workspaces = clusterScoped("tenancy.kcp.io", "workspaces", "Workspace");
const shards = clusterScoped("core.kcp.io", "shards", "Shard");

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
});
