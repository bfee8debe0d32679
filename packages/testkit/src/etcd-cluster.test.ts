import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { etcdMissing, findEtcd } from "./etcd-binary.ts";
import { type EtcdCluster, startEtcd } from "./etcd-cluster.ts";
import { memberStatus } from "./etcd-gateway.ts";

describe("finding etcd", () => {
  it("ETCD that names no executable is an error, not a skipped test", () => {
    assert.throws(() => findEtcd({ ETCD: "/nonexistent/etcd" }), /not an executable/);
  });

  it("an empty search path has none", () => {
    assert.equal(findEtcd({ PATH: "" }), undefined);
  });
});

describe("an etcd cluster for tests", { skip: etcdMissing() ?? false }, () => {
  it("elects another leader when the leader is killed, and accepts the restarted member", async () => {
    await withCluster(3, async (cluster) => {
      const first = await cluster.leader();
      await cluster.members[first]?.kill();
      assert.equal(cluster.members[first]?.running, false);
      assert.notEqual(await cluster.leader(), first);
      cluster.members[first]?.restart();
      await cluster.members[first]?.ready();
    });
  });

  it("a stopped member does not respond until it is resumed", async () => {
    await withCluster(1, async (cluster) => {
      const [member] = cluster.members;
      await member?.pause();
      const answer = fetch(`${member?.endpoint}/version`, { signal: AbortSignal.timeout(300) });
      await assert.rejects(answer, { name: "TimeoutError" });
      member?.resume();
      await member?.ready();
    });
  });

  it("a leader that is partitioned from the others is replaced, and returns as a follower", async () => {
    const cluster = await startEtcd({ members: 3, peerProxies: true });
    try {
      const old = await cluster.leader();
      cluster.peers?.isolate(old);
      const others = cluster.members.filter((_, index) => index !== old);
      let next = old;
      while (next === old) {
        const leaders = await Promise.all(others.map(({ endpoint }) => leaderAt(endpoint)));
        const [first] = leaders;
        const isOther = first !== undefined && first !== "0" && leaders.every((id) => id === first);
        next = isOther && first !== (await memberId(cluster, old)) ? old + 1 : old;
        await others[0]?.pauseBriefly();
      }
      cluster.peers?.heal();
      await cluster.members[old]?.ready();
    } finally {
      await cluster.dispose();
    }
  });

  it("is removed after dispose", async () => {
    const endpoint = await withCluster(1, async (cluster) => cluster.endpoints[0] as string);
    await assert.rejects(fetch(`${endpoint}/version`));
  });
});

async function leaderAt(endpoint: string): Promise<string | undefined> {
  return (await memberStatus(endpoint))?.leader;
}

async function memberId({ endpoints }: EtcdCluster, index: number): Promise<string | undefined> {
  return (await memberStatus(endpoints[index] as string))?.memberId;
}

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
