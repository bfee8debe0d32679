/** Goal: the parts of tenancy with limits, orders or formats of their own work as specified. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resourcePrefix, type StorageKey } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { encodeObject } from "@kcp-ts/apiserver/stored-object";
import { FakeClock, supervisorFor } from "@kcp-ts/apiserver/testing";
import { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { base36, homeClusterName, newClusterName } from "./cluster-names.ts";
import { KeyedWorkQueue } from "./keyed-work-queue.ts";
import { workspaces } from "./kinds/definitions.ts";
import { ObjectIndex } from "./object-index.ts";
import { TerminatingClusters } from "./terminating-clusters.ts";
import { workspaceKey } from "./workspace-tree.ts";
import { aliasesMax, referencesMax, WorkspaceTypes } from "./workspace-types.ts";

const signal = new AbortController().signal;
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("names of logical clusters", () => {
  it("are sixteen random characters", () => {
    const names = new Set(Array.from({ length: 100 }, newClusterName));
    assert.equal(names.size, 100);
    for (const name of names) assert.match(name, /^[0-9a-z]{16}$/);
  });

  it("of home workspaces follow from the user's name", () => {
    assert.equal(homeClusterName("alice"), homeClusterName("alice"));
    assert.notEqual(homeClusterName("alice"), homeClusterName("bob"));
    assert.match(homeClusterName("alice"), /^[0-9a-z]{10,13}$/);
  });

  it("keep leading zero bytes", () => {
    assert.equal(base36(Uint8Array.from([0, 0, 35])), "00z");
    assert.equal(base36(Uint8Array.from([0])), "0");
    assert.equal(base36(Uint8Array.from([1, 0])), "74");
  });
});

describe("an index of objects", () => {
  const root = "root" as ClusterName;
  const open = async (recordsMax?: number) => {
    const storage = new MemoryStorage();
    const clock = new FakeClock();
    const supervisor = supervisorFor(clock);
    const watchCache = new WatchCache({ storage, clock, supervisor, onError: () => {} });
    await watchCache.start();
    let reads = 0;
    const index = new ObjectIndex({
      watchCache,
      definition: workspaces,
      read: (object) => {
        reads++;
        return String((object["metadata"] as { name: string }).name);
      },
      ...(recordsMax === undefined ? {} : { recordsMax }),
    });
    const put = (name: string) =>
      storage.commit(
        {
          key: workspaceKey(root, name),
          value: encodeObject({ metadata: { name } }),
          expected: "absent",
        },
        { signal },
      );
    return { storage, watchCache, index, put, reads: () => reads };
  };

  it("reads an object once, and applies changes at once", async () => {
    const { storage, watchCache, index, put, reads } = await open();
    const revision = await put("a");
    assert.equal(await index.get(workspaceKey(root, "a")), "a");
    assert.equal(index.get(workspaceKey(root, "a")), "a");
    assert.equal(reads(), 1);
    assert.equal(await index.get(workspaceKey(root, "b")), undefined);
    const second = await put("b");
    await watchCache.hub.waitForRevision(second, signal);
    assert.equal(await index.get(workspaceKey(root, "b")), "b");
    const key = workspaceKey(root, "a");
    const gone = await storage.commit({ key, value: "delete", expected: revision }, { signal });
    await watchCache.hub.waitForRevision(gone, signal);
    assert.equal(await index.get(key), undefined);
    await watchCache.close();
  });

  it("is limited in number, and evicts the least recently used object", async () => {
    const { watchCache, index, put } = await open(2);
    for (const name of ["a", "b", "c"]) await put(name);
    await index.get(workspaceKey(root, "a"));
    await index.get(workspaceKey(root, "b"));
    assert.equal(index.size, 2);
    await index.get(workspaceKey(root, "a"));
    await index.get(workspaceKey(root, "c"));
    assert.equal(index.size, 2);
    await watchCache.close();
  });
});

describe("WorkspaceTypes that extend others", () => {
  const chain = (length: number) => {
    const types = {
      get: (key: StorageKey) => {
        const at = Number(key.slice(key.lastIndexOf("/") + 2));
        return {
          name: `t${at}`,
          cluster: "root" as ClusterName,
          path: "root",
          extends: at + 1 < length ? [{ name: `t${at + 1}`, path: "root" }] : [],
        };
      },
    };
    const tree = { resolvePathText: () => ({ kind: "cluster", cluster: "root" }) };
    return new WorkspaceTypes(types as never, tree as never);
  };
  const resolve = async (length: number) => {
    const types = chain(length);
    const first = await types.find("root", "t0");
    assert.ok(first !== undefined);
    return types.resolve(first);
  };

  it("are limited in number", async () => {
    assert.equal((await resolve(aliasesMax)).aliases.length, aliasesMax);
    await assert.rejects(resolve(aliasesMax + 2), /extends more than 100 types/);
  });

  it("are limited in their references, however few they are", async () => {
    const repeating = (references: number) => {
      const types = {
        get: (key: StorageKey) => {
          const name = key.slice(key.lastIndexOf("/") + 1);
          const last = { name: "t1", path: "root" };
          return {
            name,
            cluster: "root" as ClusterName,
            path: "root",
            extends: name === "t0" ? Array.from({ length: references }, () => last) : [],
          };
        },
      };
      const tree = { resolvePathText: () => ({ kind: "cluster", cluster: "root" }) };
      return new WorkspaceTypes(types as never, tree as never);
    };
    const resolved = async (references: number) => {
      const types = repeating(references);
      const first = await types.find("root", "t0");
      assert.ok(first !== undefined);
      return types.resolve(first);
    };
    assert.equal((await resolved(referencesMax)).aliases.length, 2);
    await assert.rejects(resolved(referencesMax + 1), /more than 1000 references/);
  });

  it("come before the type itself", async () => {
    const { aliases } = await resolve(3);
    assert.deepEqual(
      aliases.map(({ name }) => name),
      ["t2", "t1", "t0"],
    );
  });
});

describe("work queue items", () => {
  it("run once per key at a time, and again when they were requeued meanwhile", async () => {
    const log: string[] = [];
    const finish: (() => void)[] = [];
    const queue = new KeyedWorkQueue<string>({
      clock: new FakeClock(),
      onError: () => {},
      work: async (key) => {
        log.push(key);
        await new Promise<void>((resolve) => finish.push(resolve));
        return undefined;
      },
    });
    queue.add("a");
    queue.add("a");
    await settle();
    queue.add("a");
    queue.add("b");
    await settle();
    assert.deepEqual(log, ["a", "b"]);
    for (const done of finish.splice(0)) done();
    await settle();
    assert.deepEqual(log, ["a", "b", "a"]);
    for (const done of finish.splice(0)) done();
    await queue.stop();
  });

  it("that fail are retried with growing backoff, on one timer", async () => {
    const clock = new FakeClock();
    let tries = 0;
    const queue = new KeyedWorkQueue<string>({
      clock,
      onError: () => {},
      work: async () => {
        tries++;
        throw new Error("no");
      },
    });
    for (const key of ["a", "b", "c"]) queue.add(key);
    await settle();
    assert.equal(tries, 3);
    assert.equal(clock.pending, 1);
    clock.advance(100);
    await settle();
    assert.equal(tries, 6);
    clock.advance(100);
    await settle();
    assert.equal(tries, 6);
    clock.advance(200);
    await settle();
    assert.equal(tries, 9);
    await queue.stop();
    assert.equal(clock.pending, 0);
  });

  it("run with limited concurrency", async () => {
    let running = 0;
    let most = 0;
    const queue = new KeyedWorkQueue<string>({
      clock: new FakeClock(),
      concurrency: 2,
      onError: () => {},
      work: async () => {
        running++;
        most = Math.max(most, running);
        await settle();
        running--;
        return undefined;
      },
    });
    for (let at = 0; at < 7; at++) queue.add(`k${at}`);
    while (queue.size > 0) await settle();
    assert.equal(most, 2);
  });
});

describe("a logical cluster that is being emptied", () => {
  it("stays closed until requests in flight have ended, and is checked once more", async () => {
    const clock = new FakeClock();
    const looked: string[] = [];
    const closing = new TerminatingClusters(clock, async (cluster) => {
      looked.push(cluster);
    });
    const cluster = "c" as ClusterName;
    assert.equal(closing.clusters.has(cluster), false);
    closing.markTerminating(cluster);
    closing.markDeleted(cluster);
    assert.equal(closing.clusters.has(cluster), true);
    clock.advance(59_000);
    await settle();
    assert.deepEqual(looked, []);
    for (let at = 0; at < 3; at++) {
      clock.advance(5000);
      await settle();
    }
    assert.deepEqual(looked, ["c"]);
    assert.equal(closing.clusters.has(cluster), false);
    assert.equal(clock.pending, 0);
  });
});

describe("storage keys of workspaces", () => {
  it("are below the prefix that the index listens to", () => {
    const { group, resource, identity } = workspaces;
    const prefix = resourcePrefix({ group, resource, identity });
    assert.ok(workspaceKey("root" as ClusterName, "a").startsWith(prefix));
  });
});
