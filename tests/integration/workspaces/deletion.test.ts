/**
 * Goal: a deleted workspace goes with everything in it and below it, says what holds it back, and
 * leaves nothing in the store.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { StorageKey } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { serviceAccounts } from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import {
  conditionOf,
  kinds,
  phaseOf,
  specOf,
  statusOfRejection,
  WorkspaceFixture,
} from "./workspace-fixture.ts";

const signal = new AbortController().signal;

class ListedStorage extends MemoryStorage {
  /** Prefixes that somebody has listed. */
  readonly listed: string[] = [];

  override list(...[prefix, options]: Parameters<MemoryStorage["list"]>) {
    this.listed.push(prefix);
    return super.list(prefix, options);
  }
}

/** Everything that is stored of a logical cluster. */
async function keysOf(storage: MemoryStorage, cluster: string): Promise<string[]> {
  const { entries } = await storage.list("/" as StorageKey, { signal, entriesMax: 1_000_000 });
  return entries.map(({ key }) => String(key)).filter((key) => key.includes(`/${cluster}/`));
}

const widgets = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
    ],
  },
};

describe("deleting a workspace", () => {
  const storage = new ListedStorage();
  let fixture: WorkspaceFixture;
  before(async () => {
    fixture = await WorkspaceFixture.start({ storage });
  });
  after(() => fixture.close());

  const workspaces = (path = "root") => fixture.at(path).resource(kinds.workspaces);
  const fill = async (path: string) => {
    const client = fixture.at(path);
    await client.resource(kinds.namespaces).create({ metadata: { name: "more" } });
    for (const namespace of ["default", "more"])
      await client.resource(kinds.configMaps).create({ metadata: { name: "one", namespace } });
    await client
      .resource(kinds.clusterRoles)
      .create({ metadata: { name: "role" }, rules: [] } as never);
    await eventually(async () => {
      for (const namespace of ["default", "kube-system", "more"]) {
        await client.resource(kinds.configMaps).get({ name: "kube-root-ca.crt", namespace });
        await client.resource(serviceAccounts).get({ name: "default", namespace });
      }
    });
  };

  it("takes everything along and leaves nothing in the store", async () => {
    const made = await fixture.workspace("root", "full");
    const neighbour = await fixture.workspace("root", "neighbour");
    await fill("root:full");
    await fill("root:neighbour");
    const cluster = String(specOf(made)["cluster"]);
    assert.ok((await keysOf(storage, cluster)).length > 6);
    const before = await keysOf(storage, String(specOf(neighbour)["cluster"]));
    await workspaces().delete({ name: "full" });
    await fixture.gone("root", "full");
    assert.deepEqual(await keysOf(storage, cluster), []);
    assert.deepEqual(await keysOf(storage, String(specOf(neighbour)["cluster"])), before);
    assert.equal(
      (await statusOfRejection(fixture.at("root:full").resource(kinds.namespaces).list({}))).code,
      404,
    );
  });

  it("goes by name to what the workspace holds, and looks through no collection", async () => {
    const made = await fixture.workspace("root", "known", { type: "root:universal" });
    await fill("root:known");
    const cluster = String(specOf(made)["cluster"]);
    storage.listed.length = 0;
    await workspaces().delete({ name: "known" });
    await fixture.gone("root", "known");
    assert.deepEqual(await keysOf(storage, cluster), []);
    const looked = storage.listed.filter((prefix) => prefix.includes(`/${cluster}/`));
    assert.deepEqual(looked, []);
  });

  it("takes custom resources and their definitions along", async () => {
    const made = await fixture.workspace("root", "custom");
    const client = fixture.at("root:custom");
    await client.resource(kinds.definitions).create(widgets as never);
    const resource = { group: "example.com", version: "v1", resource: "widgets" };
    const create = () =>
      client
        .resource({ ...resource, kind: "Widget", namespaced: true })
        .create({
          apiVersion: "example.com/v1",
          kind: "Widget",
          metadata: { name: "w", namespace: "default" },
        } as never);
    await eventually(create);
    await workspaces().delete({ name: "custom" });
    await fixture.gone("root", "custom");
    assert.deepEqual(await keysOf(storage, String(specOf(made)["cluster"])), []);
  });

  it("takes workspaces below it along", async () => {
    const top = await fixture.workspace("root", "top");
    const clusters = [String(specOf(top)["cluster"])];
    for (const [parent, name] of [
      ["root:top", "middle"],
      ["root:top:middle", "bottom"],
      ["root:top", "side"],
    ] as const) {
      const made = await fixture.workspace(parent, name, { type: "root:universal" });
      clusters.push(String(specOf(made)["cluster"]));
    }
    await workspaces().delete({ name: "top" });
    await fixture.gone("root", "top");
    for (const cluster of clusters) assert.deepEqual(await keysOf(storage, cluster), []);
  });

  it("waits for finalizers, and says which", async () => {
    await fixture.workspace("root", "held");
    const configMaps = fixture.at("root:held").resource(kinds.configMaps);
    await configMaps.create({
      metadata: { name: "sticky", namespace: "default", finalizers: ["example.com/hold"] },
    });
    await workspaces().delete({ name: "held" });
    const held = await eventually(async () => {
      const found = await workspaces().get({ name: "held" });
      assert.equal(conditionOf(found, "WorkspaceContentDeleted")?.["status"], "False");
      return found;
    });
    assert.equal(phaseOf(held), "Deleting");
    const condition = conditionOf(held, "WorkspaceContentDeleted");
    assert.equal(condition?.["reason"], "SomeResourcesRemain");
    assert.match(
      String(condition?.["message"]),
      /Some resources are remaining: configmaps\. has 1 resource instances.*example\.com\/hold in 1 resource instances/,
    );
    const { metadata } = await configMaps.get({ namespace: "default", name: "sticky" });
    assert.notEqual(metadata.deletionTimestamp, undefined);
    const patch = { metadata: { finalizers: null } };
    await configMaps.patch({ namespace: "default", name: "sticky" }, { type: "merge", patch });
    await fixture.gone("root", "held");
  });

  it("lets nothing new in while it goes on", async () => {
    await fixture.workspace("root", "closing");
    const configMaps = fixture.at("root:closing").resource(kinds.configMaps);
    await configMaps.create({
      metadata: { name: "sticky", namespace: "default", finalizers: ["example.com/hold"] },
    });
    await workspaces().delete({ name: "closing" });
    await eventually(async () => {
      const create = configMaps.create({
        metadata: { generateName: "late-", namespace: "default" },
      } as never);
      const { code, message } = await statusOfRejection(create);
      assert.equal(code, 403);
      assert.match(message, /being deleted/);
    });
  });

  it("waits for other finalizers of the workspace before it touches the content", async () => {
    await fixture.workspace("root", "asked");
    const found = await workspaces().get({ name: "asked" });
    const finalizers = [...(found.metadata.finalizers ?? []), "example.com/backup"];
    await workspaces().update({ ...found, metadata: { ...found.metadata, finalizers } });
    await workspaces().delete({ name: "asked" });
    await fixture.at("root:asked").resource(kinds.namespaces).get({ name: "default" });
    const marked = await workspaces().get({ name: "asked" });
    const left = { ...marked.metadata, finalizers: ["core.kcp.io/logicalcluster"] };
    await workspaces().update({ ...marked, metadata: left });
    await fixture.gone("root", "asked");
  });

  it("keeps the workspace as long as its logical cluster has a finalizer", async () => {
    await fixture.workspace("root", "related");
    const logical = fixture.at("root:related").resource(kinds.logicalClusters);
    const found = await logical.get({ name: "cluster" });
    const finalizers = [...(found.metadata.finalizers ?? []), "example.com/hold"];
    await logical.update({ ...found, metadata: { ...found.metadata, finalizers } });
    await workspaces().delete({ name: "related" });
    const marked = await eventually(async () => {
      const cluster = await logical.get({ name: "cluster" });
      assert.deepEqual(cluster.metadata.finalizers, ["example.com/hold"]);
      return cluster;
    });
    const kept = await workspaces().get({ name: "related" });
    assert.deepEqual(kept.metadata.finalizers, ["core.kcp.io/logicalcluster"]);
    await logical.update({ ...marked, metadata: { ...marked.metadata, finalizers: [] } });
    await fixture.gone("root", "related");
  });
});
