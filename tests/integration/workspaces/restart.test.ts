/**
 * Goal: a server that has just started on a store with very many workspaces answers rightly before
 * it has looked at them all.
 *
 * Method: lists over a whole resource wait until the test lets them go, so that what a start reads
 * through stays unread.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { StorageKey } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { isStatusError } from "@kcp-ts/machinery/status";
import { eventually } from "@kcp-ts/testkit";
import { kinds, master, specOf, WorkspaceFixture } from "./workspace-fixture.ts";

/** A store that outlives its servers, and whose reading through can be held up. */
class SlowToRead {
  readonly storage: MemoryStorage;
  /** Reads of all objects of a kind that were held up. */
  waiting = 0;
  #held: Promise<void> | undefined;
  #release = () => {};

  constructor(target = new MemoryStorage()) {
    this.storage = new Proxy(target, {
      get: (_, property) => {
        if (property === "close") return async () => {};
        const value = Reflect.get(target, property, target) as unknown;
        if (typeof value !== "function") return value;
        if (property !== "list") return value.bind(target) as unknown;
        return async (prefix: StorageKey, options: never) => {
          if (isWholeResource(prefix) && this.#held !== undefined) {
            this.waiting++;
            await this.#held;
          }
          return target.list(prefix, options);
        };
      },
    });
  }

  hold(): void {
    this.#held = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  release(): void {
    this.#held = undefined;
    this.#release();
  }
}

/** Of workspaces or logical clusters: keys are `/<group>/<resource>/<identity>/<cluster>/…`. */
function isWholeResource(prefix: StorageKey): boolean {
  return /^\/(core|tenancy)\.kcp\.io\/(logicalclusters|workspaces)\/+$/.test(prefix);
}

async function annotate(fixture: WorkspaceFixture, path: string, name: string, value: string) {
  const logical = fixture.at(path, master).resource(kinds.logicalClusters);
  const found = await logical.get({ name: "cluster" });
  const annotations = { ...found.metadata.annotations, [name]: value };
  await logical.update({ ...found, metadata: { ...found.metadata, annotations } });
}

async function restarted(t: TestContext, slow: SlowToRead): Promise<WorkspaceFixture> {
  slow.hold();
  const tenants = await WorkspaceFixture.start({ storage: slow.storage });
  t.after(async () => {
    slow.release();
    await tenants.close();
  });
  return tenants;
}

describe("a server that has not read its store through yet", () => {
  it("keeps everybody out of a logical cluster that is inactive, and lets them into others", async (t) => {
    const slow = new SlowToRead();
    const first = await WorkspaceFixture.start({ storage: slow.storage });
    await first.workspace("root", "asleep");
    await first.workspace("root", "awake");
    await annotate(first, "root:asleep", "core.kcp.io/inactive", "true");
    await first.close();
    const tenants = await restarted(t, slow);
    const list = (path: string) => tenants.at(path, master).resource(kinds.namespaces).list();
    await assert.rejects(list("root:asleep"), /logical cluster is marked inactive/);
    assert.ok((await list("root:awake")).items.length > 0);
    assert.ok(slow.waiting > 0, "its start has begun to read, and waits");
  });

  it("takes nothing new into a logical cluster that is being deleted, and empties it when it comes to it", async (t) => {
    const slow = new SlowToRead();
    const first = await WorkspaceFixture.start({ storage: slow.storage });
    const workspace = await first.workspace("root", "doomed", { type: "root:universal" });
    const cluster = specOf(workspace)["cluster"] as string;
    // A finalizer of a ConfigMap keeps the cluster from being emptied, so that the next server
    // finds it half-way.
    const configMaps = first.at("root:doomed").resource(kinds.configMaps);
    const metadata = { namespace: "default", name: "held", finalizers: ["example.com/hold"] };
    await configMaps.create({ metadata });
    await first.at("root").resource(kinds.workspaces).delete({ name: "doomed" });
    await eventually(async () => {
      const { metadata } = await configMaps.get({ namespace: "default", name: "held" });
      assert.ok(metadata.deletionTimestamp !== undefined);
    });
    await first.close();
    const tenants = await restarted(t, slow);
    const inside = tenants.at(cluster, master).resource(kinds.configMaps);
    await assert.rejects(
      inside.create({ metadata: { namespace: "kube-system", name: "late" } }),
      (error: Error) => isStatusError(error, "Forbidden") && /being deleted/.test(error.message),
    );
    const held = await inside.get({ namespace: "default", name: "held" });
    await inside.update({ ...held, metadata: { ...held.metadata, finalizers: [] } });
    slow.release();
    await tenants.gone("root", "doomed");
  });
});
