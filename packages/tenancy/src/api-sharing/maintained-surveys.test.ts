/**
 * Goal: the cost of walking all workspaces for bindings that a type maintains: only with a reason,
 * never twice concurrently, and page by page.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { collectionKeyOf } from "@kcp-ts/apiserver/registry";
import { clusterPrefix, resourcePrefix } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { TestServer } from "../testing/index.ts";
import { logicalClusters } from "../workspaces/index.ts";
import { apiBindings } from "./kinds/definitions.ts";
import { apis, flushPendingWork, offer, until } from "./test-support/cowboys.ts";

const tenancy = "/clusters/root/apis/tenancy.kcp.io/v1alpha1";
const masters = { user: "masters" } as const;
const workspacesCount = 45;

/** Records the pages that are read of all LogicalClusters, and holds back writes of bindings. */
class WatchedStorage extends MemoryStorage {
  pages = 0;
  /** Pages that are the first of a walk. */
  walks = 0;
  held: (() => void)[] = [];
  isHolding = false;

  override list(...[prefix, options]: Parameters<MemoryStorage["list"]>) {
    if (prefix === resourcePrefix(collectionKeyOf(logicalClusters))) {
      this.pages++;
      if (options.continueAfter === undefined) this.walks++;
    }
    return super.list(prefix, options);
  }

  override async commit(...[write, options]: Parameters<MemoryStorage["commit"]>) {
    const isBinding = write.key.startsWith(resourcePrefix(collectionKeyOf(apiBindings)));
    if (this.isHolding && isBinding) await new Promise<void>((resolve) => this.held.push(resolve));
    return super.commit(write, options);
  }

  release(): void {
    this.isHolding = false;
    for (const go of this.held.splice(0)) go();
  }
}

describe("workspaces whose type maintains bindings", () => {
  const storage = new WatchedStorage();
  let test: TestServer;
  const clusters: string[] = [];
  before(async () => {
    test = await TestServer.start({ storage });
    await test.server.bootstrap("https://kcp.example.com");
    await offer(test, "provider");
    const spec = { defaultAPIBindingLifecycle: "Maintain", defaultAPIBindings: [] as object[] };
    const body = { metadata: { name: "western" }, spec };
    await test.requestOk("POST", `${tenancy}/workspacetypes`, { ...masters, body });
    for (let at = 0; at < workspacesCount; at++) {
      const type = { name: "western", path: "root" };
      const made = await test.requestOk("POST", `${tenancy}/workspaces`, {
        ...masters,
        body: { metadata: { name: `team-${at}` }, spec: { type } },
      });
      clusters.push((made["spec"] as { cluster: string }).cluster);
    }
    await quiet();
  });
  after(() => test.close());

  const quiet = async () => {
    for (let turn = 0; turn < 20; turn++) await flushPendingWork(test);
  };
  const change = async (patch: object) => {
    const path = `${tenancy}/workspacetypes/western`;
    assert.equal((await test.patch(path, "merge", patch, masters)).status, 200);
  };
  const boundCount = async () => {
    const lists = clusters.map((cluster) =>
      storage.count(clusterPrefix({ ...collectionKeyOf(apiBindings), cluster: cluster as never }), {
        signal: new AbortController().signal,
      }),
    );
    return (await Promise.all(lists)).filter((count) => count > 0).length;
  };

  it("are not walked when the type changes in other fields", async () => {
    storage.walks = 0;
    for (let turn = 0; turn < 5; turn++) {
      await change({ metadata: { labels: { turn: `n${turn}` } } });
      await change({ spec: { additionalWorkspaceLabels: { turn: `n${turn}` } } });
    }
    await quiet();
    assert.equal(storage.walks, 0);
  });

  it("are walked a few at a time, and each page is reconciled before the next is read", async () => {
    storage.isHolding = true;
    storage.pages = 0;
    await change({ spec: { defaultAPIBindings: [{ path: "provider", export: "cowboys" }] } });
    await until(test, "the first are waited for", async () => storage.held.length > 0);
    await quiet();
    assert.equal(storage.pages, 1);
    assert.ok(storage.held.length <= 20, `${storage.held.length} at once`);
    assert.equal(await boundCount(), 0);
  });

  it("are walked once more, and only once, when the type changed during a walk", async () => {
    storage.walks = 0;
    for (let turn = 0; turn < 5; turn++) {
      const more = { path: "provider", export: `later-${turn}` };
      const defaultAPIBindings = [{ path: "provider", export: "cowboys" }, more];
      await change({ spec: { defaultAPIBindings } });
    }
    await quiet();
    assert.equal(storage.walks, 0);
    storage.release();
    await until(test, "all are bound", async () => (await boundCount()) === workspacesCount);
    await until(test, "the last change has come to all", async () => {
      const last = clusters.at(-1) as string;
      const { text } = await test.get(`${apis(last)}/apibindings`, masters);
      return text.includes("later-4");
    });
    await quiet();
    assert.equal(storage.walks, 1);
  });
});
