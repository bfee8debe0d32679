/** A deleted workspace leaves nothing behind: not in any table in memory, and not in the store. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { EmbeddedStorage } from "@kcp-ts/apiserver/storage/embedded";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { DynamicObject } from "@kcp-ts/sdk";
import { eventually, FakeClock } from "@kcp-ts/testkit";
import { countInHeap } from "./count-in-heap.ts";
import { alice, kinds, specOf, WorkspaceFixture } from "./workspace-fixture.ts";

const workspacesMade = 20;
const minute = 60_000;
const { signal } = new AbortController();

async function started(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "given-back-"));
  const clock = new FakeClock();
  const storage = await EmbeddedStorage.open({ directory, clock, log: () => {} });
  const tenants = await WorkspaceFixture.start({ storage, clock });
  t.after(async () => {
    await tenants.close();
    await rm(directory, { recursive: true });
  });
  return { tenants, clock, storage };
}

/**
 * Some of everything that a server remembers of a logical cluster: roles, definitions, quotas,
 * lists, users, workspaces below it.
 */
async function use(fixture: WorkspaceFixture, name: string): Promise<string> {
  const path = `root:${name}`;
  const workspace = await fixture.workspace("root", name, { type: "root:universal" });
  await fixture.grant(path, alice, ["cluster-admin", "system:kcp:workspace:access"]);
  const hers = fixture.at(path, alice);
  const metadata = { namespace: "default", name: "thing" };
  await hers.resource(kinds.configMaps).create({ metadata });
  await hers.resource(kinds.configMaps).list({ namespace: "default" });
  await hers.resource(kinds.definitions).create(widgets as never);
  await hers.resource(kinds.workspaces).list();
  await fixture.workspace(path, "below");
  return specOf(workspace)["cluster"] as string;
}

const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const widgets = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
};

/**
 * Deletes all that is below root and lets so much time pass that nobody has a reason to remember.
 */
async function deleteAll(fixture: WorkspaceFixture, clock: FakeClock): Promise<void> {
  const workspaces = fixture.at("root").resource(kinds.workspaces);
  const { items } = await workspaces.list();
  await Promise.all(items.map(({ metadata: { name } }) => workspaces.delete({ name })));
  await eventually(
    async () => {
      await clock.advanceAndFlush(200);
      const all: { items: readonly DynamicObject[] } = await fixture
        .at("*")
        .resource(kinds.logicalClusters)
        .list();
      const names = all.items.map((one) => one.metadata.annotations?.["kcp.io/cluster"]);
      assert.deepEqual(names, ["root"]);
    },
    { timeoutMs: minute },
  );
  for (let passed = 0; passed < 6; passed++) await clock.advanceAndFlush(minute);
}

const reversed = (text: string) => [...text].reverse().join("");

describe("a deleted workspace", () => {
  it("is not mentioned in the heap any more", async (t) => {
    const { tenants, clock } = await started(t);
    const clusters: string[] = [];
    for (let i = 0; i < workspacesMade; i++)
      clusters.push(reversed(await use(tenants, `tenant-${i}`)));
    const used = await countInHeap(clusters, reversed);
    assert.equal(used, workspacesMade, "as long as it is there, it is found");
    await deleteAll(tenants, clock);
    await eventually(
      async () => {
        await clock.advanceAndFlush(minute);
        const left = await countInHeap(clusters, reversed);
        // Whoever waits for the next thing may hold on to the last one. A table would hold all.
        assert.ok(left <= workspacesMade / 2, `${left} of ${workspacesMade} are in the heap`);
      },
      { timeoutMs: minute, intervalMs: 500 },
    );
  });

  it("has no keys in the store any more, and the history that tells of it goes with time", async (t) => {
    const { tenants, clock, storage } = await started(t);
    const clusters: string[] = [];
    for (let i = 0; i < 3; i++) clusters.push(await use(tenants, `tenant-${i}`));
    const used = await clustersIn(storage);
    for (const cluster of clusters) assert.ok(used.has(cluster), cluster);
    await deleteAll(tenants, clock);
    await eventually(
      async () => {
        await clock.advanceAndFlush(minute);
        assert.deepEqual(await clustersIn(storage), new Set(["root", "system:admin"]));
        assert.equal(storage.cachedCount, 0);
        assert.ok(storage.historyChanges < 20, `${storage.historyChanges} changes`);
      },
      { timeoutMs: minute },
    );
  });
});

/** Keys are `/<group>/<resource>/<identity>/<cluster>/<namespace>/<name>`. */
async function clustersIn(storage: EmbeddedStorage): Promise<Set<string>> {
  const { entries } = await storage.list("/" as never, { signal, entriesMax: 100_000 });
  return new Set(entries.map(({ key }) => key.split("/")[4] as string));
}

describe("logical clusters in use", () => {
  it("take a bounded number of records in memory, each of them", async (t) => {
    const { tenants, storage } = await started(t);
    await use(tenants, "first");
    const before = storage.cachedCount;
    for (let i = 0; i < 5; i++) await use(tenants, `tenant-${i}` as ClusterName);
    const each = (storage.cachedCount - before) / 5;
    // Two workspaces with eight objects each, grants, a definition with its status; each as an
    // entry and as a change.
    assert.ok(each <= recordsPerUse, `${each} records of a workspace and one below it`);
  });
});

const recordsPerUse = 80;
