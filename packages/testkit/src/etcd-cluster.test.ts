import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { etcdMissing, findEtcd } from "./etcd-binary.ts";
import { type EtcdCluster, startEtcd } from "./etcd-cluster.ts";

describe("finding etcd", () => {
  it("ETCD that names nothing executable is an error, not a skipped test", () => {
    assert.throws(() => findEtcd({ ETCD: "/nonexistent/etcd" }), /not an executable/);
  });

  it("an empty search path has none", () => {
    assert.equal(findEtcd({ PATH: "" }), undefined);
  });
});

describe("an etcd cluster for tests", { skip: etcdMissing() ?? false }, () => {
  it("elects another leader when the leader is killed, and takes it back", async () => {
    await withCluster(3, async (cluster) => {
      const first = await cluster.leader();
      await cluster.members[first]?.kill();
      assert.equal(cluster.members[first]?.running, false);
      assert.notEqual(await cluster.leader(), first);
      cluster.members[first]?.restart();
      await cluster.members[first]?.ready();
    });
  });

  it("a stopped member does not answer until it is resumed", async () => {
    await withCluster(1, async (cluster) => {
      const [member] = cluster.members;
      await member?.pause();
      const answer = fetch(`${member?.endpoint}/version`, { signal: AbortSignal.timeout(300) });
      await assert.rejects(answer, { name: "TimeoutError" });
      member?.resume();
      await member?.ready();
    });
  });

  it("is gone after dispose", async () => {
    const endpoint = await withCluster(1, async (cluster) => cluster.endpoints[0] as string);
    await assert.rejects(fetch(`${endpoint}/version`));
  });
});

async function withCluster<T>(
  members: 1 | 3,
  body: (cluster: EtcdCluster) => Promise<T>,
): Promise<T> {
  const cluster = await startEtcd({ members });
  try {
    return await body(cluster);
  } finally {
    await cluster.dispose();
  }
}
