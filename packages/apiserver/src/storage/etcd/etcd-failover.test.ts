/**
 * Three members that are killed, stopped and disconnected under load.
 *
 * Invariants: an acknowledged write is stored exactly once; an unacknowledged one is stored
 * completely or not at all; a watch gets each revision once and in order, across any number of
 * broken streams.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { type EtcdCluster, etcdMissing, FaultProxy, startEtcd } from "@kcp-ts/testkit";
import { call, key, put } from "../contract/storage-contract.ts";
import type { Revision } from "../revision.ts";
import type { Change } from "../storage.ts";
import { EtcdStorage, type EtcdStorageOptions } from "./etcd-storage.ts";
import { WriteLoad } from "./write-load.ts";

describe("etcd storage on three members", { skip: etcdMissing() ?? false }, () => {
  let cluster: EtcdCluster;
  const cleanups: (() => Promise<void>)[] = [];
  let opened = 0;

  before(async () => {
    cluster = await startEtcd({ members: 3, args: ["--grpc-keepalive-min-time=50ms"] });
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    for (const member of cluster.members) {
      member.resume();
      if (!member.running) member.restart();
    }
    for (const member of cluster.members) await member.ready();
  });
  after(() => cluster?.dispose());

  async function open(overrides: Partial<EtcdStorageOptions> = {}): Promise<EtcdStorage> {
    const storage = await EtcdStorage.open({
      endpoints: cluster.endpoints,
      clock: systemClock,
      random: systemRandom,
      prefix: `/failover-${opened++}`,
      requestTimeoutMs: 6000,
      connectTimeoutMs: 1000,
      outageGraceMs: 2000,
      keepaliveIntervalMs: 300,
      keepaliveTimeoutMs: 300,
      healthIntervalMs: 500,
      ...overrides,
    });
    cleanups.push(() => storage.close());
    return storage;
  }

  /** A proxy in front of each member, in their order. */
  async function openThroughProxies(): Promise<{ storage: EtcdStorage; proxies: FaultProxy[] }> {
    const proxies: FaultProxy[] = [];
    for (const endpoint of cluster.endpoints) {
      const { hostname, port } = new URL(endpoint);
      proxies.push(await FaultProxy.start({ host: hostname, port: Number(port) }));
    }
    cleanups.push(async () => {
      for (const proxy of proxies) await proxy.dispose();
    });
    const endpoints = proxies.map((proxy) => `http://127.0.0.1:${proxy.port}`);
    return { storage: await open({ endpoints }), proxies };
  }

  it("continues when a follower is killed", async () => {
    const storage = await open();
    const load = await WriteLoad.start(storage);
    const follower = ((await cluster.leader()) + 1) % 3;
    await load.until(100);
    await cluster.members[follower]?.kill();
    await load.until(300);
    await load.check();
  });

  it("loses and repeats no write when the leader is killed during writes", async () => {
    const storage = await open();
    const load = await WriteLoad.start(storage);
    await load.until(150);
    const leader = cluster.members[await cluster.leader()];
    await leader?.kill();
    await load.until(400);
    leader?.restart();
    await leader?.ready();
    await load.until(600);
    await load.check();
  });

  it("continues when the leader is suspended", async () => {
    const storage = await open();
    const load = await WriteLoad.start(storage);
    await load.until(100);
    const leader = cluster.members[await cluster.leader()];
    await leader?.pause();
    await load.until(300);
    leader?.resume();
    await load.check();
  });

  it("fails in bounded time when all members are down, and recovers without gaps when they are back", async () => {
    const storage = await open();
    const load = await WriteLoad.start(storage);
    await load.until(100);
    await Promise.all(cluster.members.map((member) => member.kill()));
    const startedAt = systemClock.monotonic();
    await assert.rejects(storage.get(key("/x"), call()), { code: "unavailable" });
    await assert.rejects(storage.commit(put("/x", "1", "absent"), call()), { code: "unavailable" });
    assert.ok(systemClock.monotonic() - startedAt < 15_000);
    const fault = storage.health()?.message ?? "no fault";
    for (const endpoint of cluster.endpoints) assert.ok(fault.includes(endpoint), fault);

    for (const member of cluster.members) member.restart();
    for (const member of cluster.members) await member.ready();
    await load.until(300);
    await load.check();
    assert.equal(storage.health(), undefined);
  });

  it("reports the fault when most members are down, and recovers when one is back", async () => {
    const storage = await open();
    const load = await WriteLoad.start(storage);
    await load.until(100);
    const [first, second] = cluster.members;
    await Promise.all([first?.kill(), second?.kill()]);
    const startedAt = systemClock.monotonic();
    await assert.rejects(storage.commit(put("/x", "1", "absent"), call()), { code: "unavailable" });
    await assert.rejects(storage.currentRevision(call()), { code: "unavailable" });
    assert.ok(systemClock.monotonic() - startedAt < 20_000);
    assert.match(storage.health()?.message ?? "", /no leader|ECONNREFUSED|no answer|timed out/);
    second?.restart();
    await load.until(300);
    await load.check();
    assert.equal(storage.health(), undefined);
  });

  it("detects a half-open connection and moves its calls and watches to another member", async () => {
    const { storage, proxies } = await openThroughProxies();
    const load = await WriteLoad.start(storage);
    await load.until(100);
    const used = proxies.find((proxy) => proxy.openConnections > 0);
    assert.ok(used !== undefined);
    used.setFaults({ blackhole: true });
    await load.until(300);
    assert.ok(proxies.some((proxy) => proxy !== used && proxy.openConnections > 0));
    await load.check();
  });

  it("resumes watches when connections are dropped repeatedly", async () => {
    const { storage, proxies } = await openThroughProxies();
    const load = await WriteLoad.start(storage);
    for (let round = 1; round <= 15; round++) {
      await load.until(round * 30);
      for (const proxy of proxies) proxy.dropConnections();
    }
    await load.until(500);
    await load.check();
  });

  it("a watch that was disconnected while its history was compacted fails with compacted", async () => {
    const { storage, proxies } = await openThroughProxies();
    const writer = await open({ prefix: `/failover-${opened - 1}` });
    const first = await storage.commit(put("/p/a", "1", "absent"), call());
    const watch = storage
      .watch(key("/p/"), (first - 1) as Revision, { ...call(), bufferedChangesMax: 10 })
      [Symbol.asyncIterator]();
    assert.equal(((await watch.next()).value as Change).kind, "put");
    for (const proxy of proxies) {
      proxy.setFaults({ refuse: true });
      proxy.dropConnections();
    }
    const second = await writer.commit(put("/p/a", "2", first), call());
    const third = await writer.commit(put("/p/a", "3", second), call());
    await writer.compact(third, call());
    for (const proxy of proxies) proxy.setFaults({});
    const rest = async () => {
      for (;;) assert.equal(((await watch.next()).value as Change).kind, "progress");
    };
    await assert.rejects(rest(), { code: "compacted", oldest: third });
  });
});
