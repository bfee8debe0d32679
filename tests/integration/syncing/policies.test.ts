/**
 * SyncPolicies: syncers obey those that apply to their SyncTarget, as they are created, changed and
 * deleted.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type ResourceSyncPolicy, type SyncPolicySpec, syncPolicies } from "@kcp-ts/multicluster";
import type { DynamicObject } from "@kcp-ts/sdk";
import { clusterRoles } from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import { deployments, type FaultyServer, widgets } from "./faulty-server.ts";
import { SyncedClusterSet } from "./synced-cluster-set.ts";

const assigned = { "workload.kcp.io/cluster": "east" };
const at = { name: "a", namespace: "shop" };
const kinds = [
  { resource: widgets, hasStatus: true },
  { resource: deployments, hasStatus: true },
  { resource: clusterRoles, hasStatus: false },
];

async function startClusterSet(
  t: TestContext,
): Promise<{ clusterSet: SyncedClusterSet; east: FaultyServer }> {
  const clusterSet = await SyncedClusterSet.start();
  t.after(() => clusterSet.close());
  await clusterSet.namespace("root");
  return { clusterSet, east: await clusterSet.join("root", "east", kinds) };
}

const ofWidgets = { group: "example.com", resource: "widgets" };

function policy(name: string, rules: ResourceSyncPolicy, targets: Partial<SyncPolicySpec> = {}) {
  return { metadata: { name }, spec: { ...targets, resources: [rules] } };
}

async function copyOf(
  faultyServer: FaultyServer,
  resource: typeof widgets,
  name = "a",
): Promise<DynamicObject> {
  return await eventually(async () => {
    const { items } = await faultyServer.client.resource(resource).list();
    const found = items.find(({ metadata }) => metadata.name === name);
    assert.ok(found !== undefined);
    return found;
  });
}

const requestedObjectOf = ({ metadata }: DynamicObject) => {
  return { namespace: metadata.namespace, name: metadata.name };
};

describe("an autoscaler in the cluster", () => {
  it("keeps the replicas it has set, and a policy upsyncs them", async (t) => {
    const { clusterSet, east } = await startClusterSet(t);
    const client = clusterSet.up.client.inCluster("root");
    const originals = client.resource(deployments);
    const spec = { replicas: 2, template: { image: "web:1" } };
    await originals.create({ metadata: { ...at, labels: assigned }, spec });
    const copy = await copyOf(east, deployments);
    const scale = (replicas: number) =>
      east.client
        .resource(deployments)
        .patch(
          requestedObjectOf(copy),
          { type: "merge", patch: { spec: { replicas } } },
          { fieldManager: "horizontal-pod-autoscaler" },
        );
    await scale(7);
    // The next change upstream goes down, and the replicas stay the autoscaler's.
    const patch = { spec: { template: { image: "web:2" } } };
    await originals.patch(at, { type: "merge", patch });
    await eventually(async () => {
      const { spec: found } = await copyOf(east, deployments);
      assert.deepEqual(found, { replicas: 7, template: { image: "web:2" } });
    });
    assert.equal(((await originals.get(at))["spec"] as { replicas: number }).replicas, 2);
    const conflictingFields = [{ path: "spec.replicas", resolution: "Upsync" }] as const;
    const rules = { group: "apps", resource: "deployments", conflictingFields };
    await client.resource(syncPolicies).create(policy("autoscaled", rules));
    const upsynced = (replicas: number) =>
      eventually(async () => {
        const { spec: found } = await originals.get(at);
        assert.equal((found as { replicas: number }).replicas, replicas);
      });
    await upsynced(7);
    await scale(9);
    await upsynced(9);
    const { spec: after } = await copyOf(east, deployments);
    assert.equal((after as { replicas: number }).replicas, 9);
  });
});

describe("SyncPolicies", () => {
  it("are obeyed as they come, change and go, those for one SyncTarget first", async (t) => {
    const { clusterSet, east } = await startClusterSet(t);
    const client = clusterSet.up.client.inCluster("root");
    const policies = client.resource(syncPolicies);
    await policies.create(policy("all", { ...ofWidgets, onDownstreamDeletion: "Recreate" }));
    const propagate = { ...ofWidgets, onDownstreamDeletion: "Propagate" } as const;
    await policies.create(policy("one", propagate, { syncTargets: ["east"] }));
    const create = () =>
      client
        .resource(widgets)
        .create({ metadata: { ...at, labels: assigned }, spec: { color: "red" } });
    // A kind starts anew with its policy: what counts is where it ends.
    await eventually(async () => {
      if ((await client.resource(widgets).find(at)) === undefined) await create();
      const copy = await copyOf(east, widgets);
      await east.client.resource(widgets).delete(requestedObjectOf(copy));
      await eventually(async () => {
        const original = await client.resource(widgets).find(at);
        const { items } = await east.client.resource(widgets).list();
        assert.ok(original === undefined || items[0]?.metadata.uid !== copy.metadata.uid);
        assert.ok(original === undefined || items.length === 1);
      });
      assert.equal(await client.resource(widgets).find(at), undefined, "it went too");
    });
    await policies.delete({ name: "one" });
    await eventually(async () => {
      if ((await client.resource(widgets).find(at)) === undefined) await create();
      const copy = await copyOf(east, widgets);
      await east.client.resource(widgets).delete(requestedObjectOf(copy));
      await eventually(async () => {
        const original = await client.resource(widgets).find(at);
        const { items } = await east.client.resource(widgets).list();
        assert.ok(original === undefined || items.length === 1);
      });
      assert.ok((await client.resource(widgets).find(at)) !== undefined, "it is made again");
    });
  });

  it("of one logical cluster mean nothing in another", async (t) => {
    const { clusterSet, east } = await startClusterSet(t);
    await clusterSet.namespace("other");
    const other = clusterSet.up.client.inCluster("other").resource(syncPolicies);
    const rules = { ...ofWidgets, omittedFields: ["spec.color"] };
    await other.create(policy("theirs", rules));
    const client = clusterSet.up.client.inCluster("root");
    const spec = { color: "red", size: "small" };
    await client.resource(widgets).create({ metadata: { ...at, labels: assigned }, spec });
    assert.deepEqual((await copyOf(east, widgets))["spec"], spec);
    await client.resource(syncPolicies).create(policy("ours", rules, { syncTargets: ["east"] }));
    await client
      .resource(widgets)
      .create({ metadata: { ...at, name: "b", labels: assigned }, spec });
    await eventually(async () => {
      const { spec: found } = await copyOf(east, widgets);
      assert.deepEqual(found, { size: "small" });
    });
  });

  it("are refused with the field that is wrong", async (t) => {
    const { clusterSet } = await startClusterSet(t);
    const policies = clusterSet.up.client.inCluster("root").resource(syncPolicies);
    const wrong: readonly [spec: object, message: RegExp][] = [
      [{ resources: [] }, /spec\.resources: .*should have at least 1 items/],
      [{ resources: [{ group: "apps" }] }, /spec\.resources\[0\]\.resource: Required value/],
      [{ syncTargets: [], resources: [ofWidgets] }, /spec\.syncTargets: .*at least 1 items/],
      [{ resources: [ofWidgets, ofWidgets] }, /spec\.resources\[1\]: Duplicate value/],
      [
        { resources: [{ ...ofWidgets, direction: "Sideways" }] },
        /direction: Unsupported value: "Sideways": supported values: "Down", "Up", "Both"/,
      ],
      [
        { resources: [{ ...ofWidgets, conflictingFields: [{ path: "spec.x" }] }] },
        /conflictingFields\[0\]\.resolution: Required value/,
      ],
      ...["metadata.labels", "status", "kind"].map((path): [object, RegExp] => [
        { resources: [{ ...ofWidgets, omittedFields: [path] }] },
        /omittedFields\[0\]: .*must not be a field of apiVersion, kind, metadata or status/,
      ]),
      [{ resources: [{ ...ofWidgets, omittedFields: ["spec..x"] }] }, /omittedFields\[0\]: /],
    ];
    for (const [spec, message] of wrong) {
      const created = policies.create({ metadata: { name: "wrong" }, spec: spec as never });
      await assert.rejects(created, message, JSON.stringify(spec));
    }
  });
});

describe("an object without a namespace", () => {
  it("is synced, follows changes, is put right, and goes with its original", async (t) => {
    const { clusterSet, east } = await startClusterSet(t);
    const originals = clusterSet.up.client.inCluster("root").resource(clusterRoles);
    const rule = (verb: string) => ({ apiGroups: [""], resources: ["pods"], verbs: [verb] });
    const metadata = { name: "reader", labels: assigned };
    await originals.create({ metadata, rules: [rule("get")] });
    const copies = east.client.resource(clusterRoles);
    const copied = (verb: string) =>
      eventually(async () => {
        const { rules } = await copies.get({ name: "reader" });
        assert.deepEqual(rules, [rule(verb)]);
      });
    await copied("get");
    const patch = { rules: [rule("list")] };
    await originals.patch({ name: "reader" }, { type: "merge", patch });
    await copied("list");
    await copies.patch({ name: "reader" }, { type: "merge", patch: { rules: [rule("watch")] } });
    await copied("list");
    await copies.create({ metadata: { name: "theirs" }, rules: [rule("get")] });
    await originals.create({
      metadata: { name: "theirs", labels: assigned },
      rules: [rule("list")],
    });
    await eventually(async () => {
      const found = await originals.get({ name: "theirs" });
      const text = found.metadata.annotations?.["sync-error.workload.kcp.io/east"] ?? "";
      assert.match(text, /AlreadyExists.*ClusterRole theirs exists in the cluster/);
    });
    for (const name of ["reader", "theirs"]) await originals.delete({ name });
    await eventually(async () => {
      assert.equal(await originals.find({ name: "reader" }), undefined);
      assert.equal(await originals.find({ name: "theirs" }), undefined);
    });
    assert.equal(await copies.find({ name: "reader" }), undefined);
    assert.deepEqual((await copies.get({ name: "theirs" })).rules, [rule("get")]);
  });
});
