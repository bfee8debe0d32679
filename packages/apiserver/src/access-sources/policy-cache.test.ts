/**
 * Goal: RBAC decisions include every acknowledged write, on every store, and cached policies stay
 * within their memory limit.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type EtcdCluster, etcdMissing, startEtcd } from "@kcp-ts/testkit";
import { EmbeddedStorage } from "../storage/embedded/index.ts";
import { EtcdStorage } from "../storage/etcd/index.ts";
import type { Storage } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import {
  FaultyStorage,
  RoleWriter,
  rbacPath,
  supervisorFor,
  TestServer,
} from "../testing/index.ts";
import { WatchCache } from "../watch-cache/index.ts";
import { PolicyCache } from "./policy-cache.ts";

interface Opened {
  readonly storage: Storage;
  readonly dispose: () => Promise<void>;
}

function describeFreshness(name: string, open: () => Promise<Opened>): void {
  it(`${name}: a decision knows every write that was acknowledged before`, async () => {
    const { storage, dispose } = await open();
    const server = await TestServer.start({ storage });
    const admin = new RoleWriter(server, "t");
    const path = "/api/v1/namespaces/default/configmaps";
    const may = async () => (await admin.as("nobody").get(path)).status === 200;
    const remove = (what: string) =>
      server.request("DELETE", `/clusters/t${rbacPath}/${what}`, { user: "masters" });
    const rules = [{ verbs: ["list"], apiGroups: [""], resources: ["configmaps"] }];
    try {
      assert.equal(await may(), false);
      for (let round = 0; round < 10; round++) {
        await admin.clusterRole("r", rules);
        await admin.clusterBinding("b", "r", "nobody");
        assert.equal(await may(), true, "a binding counts");
        await remove("clusterroles/r");
        assert.equal(await may(), false, "a role that is gone does not");
        await admin.clusterRole("r", rules);
        assert.equal(await may(), true, "it does again");
        const role = `/clusters/t${rbacPath}/clusterroles/r`;
        await server.patch(role, "merge", { rules: [] }, { user: "masters" });
        assert.equal(await may(), false, "rules change");
        await server.patch(role, "merge", { rules }, { user: "masters" });
        await remove("clusterrolebindings/b");
        assert.equal(await may(), false, "a binding that is gone does not count");
        await admin.role("local", rules);
        await admin.binding("local", ["Role", "local"], "nobody");
        assert.equal(await may(), true);
        await remove("namespaces/default/rolebindings");
        assert.equal(await may(), false, "nor do those of a collection");
        await remove("namespaces/default/roles");
        await remove("clusterroles");
      }
    } finally {
      await server.server.close();
      await dispose();
    }
  });
}

describe("the policy of a cluster", () => {
  describeFreshness("memory", async () => {
    const storage = new MemoryStorage();
    return { storage, dispose: () => storage.close() };
  });
  describeFreshness("embedded", async () => {
    const directory = await mkdtemp(join(tmpdir(), "kcp-policies-"));
    const storage = await EmbeddedStorage.open({ directory, clock: systemClock });
    const dispose = async () => {
      await storage.close();
      await rm(directory, { recursive: true });
    };
    return { storage, dispose };
  });

  describe("etcd", { skip: etcdMissing() ?? false }, () => {
    let etcd: EtcdCluster;
    before(async () => {
      etcd = await startEtcd();
    });
    after(() => etcd?.dispose());

    describeFreshness("etcd", async () => {
      const clock = systemClock;
      const random = systemRandom;
      const storage = await EtcdStorage.open({ endpoints: etcd.endpoints, clock, random });
      return { storage, dispose: () => storage.close() };
    });
  });

  it("is loaded with every concurrent write", async () => {
    const storage = new MemoryStorage();
    const first = await TestServer.start({ storage });
    const admin = new RoleWriter(first, "t");
    const rules = [{ verbs: ["list"], apiGroups: [""], resources: ["configmaps"] }];
    for (let i = 0; i < 500; i++) await admin.clusterRole(`r${i}`, rules);
    await first.server.close();
    const second = await TestServer.start({ storage });
    const again = new RoleWriter(second, "t");
    const path = "/api/v1/namespaces/default/configmaps";
    const asking = again.as("nobody").get(path);
    const writing = again.clusterBinding("b", "r499", "nobody");
    assert.ok([200, 403].includes((await asking).status));
    await writing;
    assert.equal((await again.as("nobody").get(path)).status, 200);
    await second.close();
  });
});

describe("a store that fails", () => {
  it("fails requests in clusters without a cached policy, and authorizes them again when it recovers", async () => {
    const storage = new FaultyStorage(new MemoryStorage());
    const server = await TestServer.start({ storage });
    const admin = new RoleWriter(server, "t");
    await admin.clusterBinding("b", "view", "nobody");
    const path = "/api/v1/namespaces/default/configmaps/x";
    storage.fail();
    const refused = await admin.as("nobody").get(path);
    assert.equal(refused.status, 500);
    assert.match(refused.object.message ?? "", /the store cannot take this request now/);
    assert.equal((await admin.as("admin").get("/")).status, 200, "the shared policy is at hand");
    storage.recover();
    assert.equal((await admin.as("nobody").get(path)).status, 404);
    await server.close();
  });
});

describe("the memory of policies", () => {
  async function filled(clusters: number): Promise<{ cache: WatchCache; storage: Storage }> {
    const storage = new MemoryStorage();
    const server = await TestServer.start({ storage });
    for (let i = 0; i < clusters; i++)
      await new RoleWriter(server, `c${i}`).grant("g", "nobody", [
        { verbs: ["get"], apiGroups: [""], resources: ["configmaps"] },
      ]);
    await server.server.close();
    const supervisor = supervisorFor(systemClock);
    const cache = new WatchCache({
      storage,
      clock: systemClock,
      supervisor,
      onError: assert.ifError,
    });
    await cache.start();
    return { cache, storage };
  }

  it("is limited in clusters, and evicts the least recently used", async () => {
    const { cache, storage } = await filled(4);
    const policies = new PolicyCache({ storage, hub: cache.hub, clustersMax: 3 });
    const name = (i: number) => `c${i}` as ClusterName;
    for (const i of [0, 1, 2]) await policies.load(name(i));
    assert.equal(policies.size, 3);
    assert.ok(policies.peek(name(0)) !== undefined);
    await policies.load(name(3));
    assert.equal(policies.size, 3);
    assert.deepEqual(
      [0, 1, 2, 3].map((i) => policies.peek(name(i)) !== undefined),
      [true, false, true, true],
    );
    await cache.close();
    await storage.close();
  });

  it("lets clusters without roles evict each other only, and no cluster with roles", async () => {
    const { cache, storage } = await filled(2);
    const policies = new PolicyCache({
      storage,
      hub: cache.hub,
      clustersMax: 2,
      emptyClustersMax: 3,
    });
    for (const name of ["c0", "c1"]) await policies.load(name as ClusterName);
    for (let i = 0; i < 20; i++) await policies.load(`invented${i}` as ClusterName);
    assert.equal(policies.size, 5);
    const isHeld = (name: string) => policies.peek(name as ClusterName) !== undefined;
    assert.deepEqual(["c0", "c1", "invented16", "invented17", "invented19"].map(isHeld), [
      true,
      true,
      false,
      true,
      true,
    ]);
    await cache.close();
    await storage.close();
  });

  it("is limited in bytes, counted as objects are created and deleted", async () => {
    const { cache, storage } = await filled(3);
    const one = new PolicyCache({ storage, hub: cache.hub });
    await one.load("c0" as ClusterName);
    const bytesMax = one.bytes * 2;
    assert.ok(bytesMax > 0);
    const policies = new PolicyCache({ storage, hub: cache.hub, bytesMax });
    for (const name of ["c0", "c1"]) await policies.load(name as ClusterName);
    assert.equal(policies.size, 2);
    await policies.load("c2" as ClusterName);
    assert.equal(policies.size, 2);
    assert.ok(policies.bytes <= bytesMax);
    await cache.close();
    assert.deepEqual([policies.size, policies.bytes], [0, 0], "what is lost is not held");
    await storage.close();
  });
});
