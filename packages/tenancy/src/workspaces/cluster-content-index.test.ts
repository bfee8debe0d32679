/**
 * Goal: the content of clusters that began empty is known by name; a cluster that is emptied is
 * known to hold the content since then, and the index claims nothing of other clusters.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectionKeyOf, configMaps, namespaces } from "@kcp-ts/apiserver/registry";
import { objectKey, type Revision } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { encodeObject } from "@kcp-ts/apiserver/stored-object";
import { FakeClock, supervisorFor } from "@kcp-ts/apiserver/testing";
import { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { ClusterContentIndex } from "./cluster-content-index.ts";
import { ContentTrie } from "./content-trie.ts";

const { signal } = new AbortController();
const mine = "mine" as ClusterName;
const others = "others" as ClusterName;

async function open() {
  const storage = new MemoryStorage();
  const clock = new FakeClock();
  const supervisor = supervisorFor(clock);
  const { hub } = new WatchCache({ storage, clock, supervisor, onError: () => {} });
  await hub.start();
  const tree = new ContentTrie();
  const used = new ClusterContentIndex(hub, [namespaces, configMaps], tree);
  const keyOf = (cluster: ClusterName, name: string) =>
    objectKey({ ...collectionKeyOf(configMaps), cluster, namespace: "default", name });
  const put = async (
    cluster: ClusterName,
    name: string,
    expected: Revision | "absent" = "absent",
  ) => {
    const value = encodeObject({ metadata: { name } });
    const revision = await storage.commit(
      { key: keyOf(cluster, name), value, expected },
      { signal },
    );
    await hub.waitForRevision(revision, signal);
    return revision;
  };
  const remove = async (cluster: ClusterName, name: string, expected: Revision) => {
    const key = keyOf(cluster, name);
    await hub.waitForRevision(
      await storage.commit({ key, value: "delete", expected }, { signal }),
      signal,
    );
  };
  const names = (cluster: ClusterName) =>
    used.keysIn(cluster)?.map(({ key }) => key.slice(key.lastIndexOf("/") + 1));
  return { hub, tree, used, put, remove, keyOf, names };
}

describe("the content of a logical cluster", () => {
  it("is known by its keys when the cluster was created by this server", async () => {
    const { used, put, keyOf } = await open();
    used.trackNewCluster(mine);
    assert.deepEqual(used.keysIn(mine), []);
    await put(mine, "a");
    await put(others, "b");
    assert.deepEqual(used.keysIn(mine), [{ definition: configMaps, key: keyOf(mine, "a") }]);
    assert.ok(used.mayContain(mine, collectionKeyOf(configMaps)));
    assert.equal(used.mayContain(mine, collectionKeyOf(namespaces)), false);
  });

  it("is unknown for any other cluster", async () => {
    const { used, put } = await open();
    await put(others, "a");
    assert.equal(used.keysIn(others), undefined);
    assert.ok(used.mayContain(others, collectionKeyOf(namespaces)));
  });

  it("is the content since the cluster was emptied, the same names included", async () => {
    const { used, put, remove, names } = await open();
    used.trackNewCluster(mine);
    const [a, b] = [await put(mine, "a"), await put(mine, "b")];
    used.beginDeletion(mine);
    await remove(mine, "a", a);
    await remove(mine, "b", b);
    await put(mine, "b");
    assert.deepEqual(names(mine), ["a", "b"]);
    used.endDeletion(mine, true);
    assert.deepEqual(names(mine), ["b"]);
  });

  it("is unchanged when emptying failed", async () => {
    const { used, put, names } = await open();
    used.trackNewCluster(mine);
    await put(mine, "a");
    used.beginDeletion(mine);
    await put(mine, "b");
    used.endDeletion(mine, false);
    assert.deepEqual(names(mine), ["a", "b"]);
  });

  it("leaves no memory behind when it is dropped, or when events were missed", async () => {
    const { hub, tree, used, put } = await open();
    for (const cluster of [mine, others]) {
      used.trackNewCluster(cluster);
      await put(cluster, "a");
    }
    used.beginDeletion(mine);
    used.forget(mine);
    assert.equal(used.size, 1);
    await hub.close();
    assert.equal(used.size, 0);
    assert.equal(tree.size, 0);
  });
});
