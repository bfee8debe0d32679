/** Goal: what is particular about a kind is obeyed, whether a policy comes from the code or from a ConfigMap, and while syncers run. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { parsePolicies } from "@kcp-ts/multicluster";
import { builtInResource, type DynamicObject } from "@kcp-ts/sdk";
import { eventually } from "@kcp-ts/testkit";
import { configMaps, deployments, events, type FaultyServer, widgets } from "./faulty-server.ts";
import { SyncedClusterSet } from "./synced-cluster-set.ts";

const assigned = { "workload.kcp.io/cluster": "east" };
const at = { name: "a", namespace: "shop" };
const clusterRoles = builtInResource<DynamicObject>("clusterroles.rbac.authorization.k8s.io");
const kinds = [
  { resource: widgets, hasStatus: true },
  { resource: deployments, hasStatus: true },
  { resource: clusterRoles, hasStatus: false },
];

async function startFleet(
  t: TestContext,
): Promise<{ fleet: SyncedClusterSet; east: FaultyServer }> {
  const clusterSet = await SyncedClusterSet.start();
  t.after(() => clusterSet.close());
  await clusterSet.namespace("root");
  return { fleet: clusterSet, east: await clusterSet.join("root", "east", kinds) };
}

function policyMap(name: string, target: string, data: Record<string, string>) {
  const labels = { "workload.kcp.io/sync-policy": target };
  return { metadata: { name, namespace: "shop", labels }, data };
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

const placeOf = ({ metadata }: DynamicObject) => {
  return { namespace: metadata.namespace, name: metadata.name };
};

describe("an autoscaler in the cluster", () => {
  it("keeps the replicas it has set, and a policy lifts them", async (t) => {
    const { fleet: clusterSet, east } = await startFleet(t);
    const client = clusterSet.up.client.inCluster("root");
    const originals = client.resource(deployments);
    const spec = { replicas: 2, template: { image: "web:1" } };
    await originals.create({ metadata: { ...at, labels: assigned }, spec });
    const copy = await copyOf(east, deployments);
    const scale = (replicas: number) =>
      east.client
        .resource(deployments)
        .patch(
          placeOf(copy),
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
    const lift = '{"contested": [{"path": "spec.replicas", "mode": "lift"}]}';
    const map = policyMap("policies", "", { "deployments.apps": lift });
    await client.resource(configMaps).create(map);
    const lifted = (replicas: number) =>
      eventually(async () => {
        const { spec: found } = await originals.get(at);
        assert.equal((found as { replicas: number }).replicas, replicas);
      });
    await lifted(7);
    await scale(9);
    await lifted(9);
    const { spec: after } = await copyOf(east, deployments);
    assert.equal((after as { replicas: number }).replicas, 9);
  });
});

describe("policies in ConfigMaps", () => {
  it("are obeyed as they come, change and go, those for one SyncTarget first", async (t) => {
    const { fleet: clusterSet, east } = await startFleet(t);
    const client = clusterSet.up.client.inCluster("root");
    const maps = client.resource(configMaps);
    const propagate = '{"onDownstreamDeletion": "propagate"}';
    const recreate = '{"onDownstreamDeletion": "recreate"}';
    await maps.create(policyMap("all", "", { "widgets.example.com": recreate }));
    await maps.create(policyMap("one", "east", { "widgets.example.com": propagate }));
    const create = () =>
      client
        .resource(widgets)
        .create({ metadata: { ...at, labels: assigned }, spec: { color: "red" } });
    // A kind starts anew with its policy: what counts is where it ends.
    await eventually(async () => {
      if ((await client.resource(widgets).find(at)) === undefined) await create();
      const copy = await copyOf(east, widgets);
      await east.client.resource(widgets).delete(placeOf(copy));
      await eventually(async () => {
        const original = await client.resource(widgets).find(at);
        const { items } = await east.client.resource(widgets).list();
        assert.ok(original === undefined || items[0]?.metadata.uid !== copy.metadata.uid);
        assert.ok(original === undefined || items.length === 1);
      });
      assert.equal(await client.resource(widgets).find(at), undefined, "it went too");
    });
    await maps.delete({ name: "one", namespace: "shop" });
    await eventually(async () => {
      if ((await client.resource(widgets).find(at)) === undefined) await create();
      const copy = await copyOf(east, widgets);
      await east.client.resource(widgets).delete(placeOf(copy));
      await eventually(async () => {
        const original = await client.resource(widgets).find(at);
        const { items } = await east.client.resource(widgets).list();
        assert.ok(original === undefined || items.length === 1);
      });
      assert.ok((await client.resource(widgets).find(at)) !== undefined, "it is made again");
    });
  });

  it("that cannot be read count for nothing, and an Event says where", async (t) => {
    const { fleet: clusterSet, east } = await startFleet(t);
    const client = clusterSet.up.client.inCluster("root");
    const data = { "widgets.example.com": '{"direction": "sideways"}' };
    await client.resource(configMaps).create(policyMap("bad", "", data));
    await eventually(async () => {
      const { items } = await client.resource(events).list({ namespace: "shop" });
      const found = items.find(({ reason }) => reason === "InvalidPolicy");
      assert.match(
        String(found?.["message"]),
        /ConfigMap bad.*widgets\.example\.com\.direction is one of down, up, both; correct it/,
      );
    });
    const metadata = { ...at, labels: assigned };
    await client.resource(widgets).create({ metadata, spec: { color: "red" } });
    await copyOf(east, widgets);
  });

  it("of one logical cluster mean nothing in another", async (t) => {
    const { fleet: clusterSet, east } = await startFleet(t);
    await clusterSet.namespace("other");
    const other = clusterSet.up.client.inCluster("other").resource(configMaps);
    const data = { "widgets.example.com": '{"omitted": ["spec.color"]}' };
    await other.create(policyMap("theirs", "", data));
    const client = clusterSet.up.client.inCluster("root");
    const spec = { color: "red", size: "small" };
    await client.resource(widgets).create({ metadata: { ...at, labels: assigned }, spec });
    assert.deepEqual((await copyOf(east, widgets))["spec"], spec);
    await client.resource(configMaps).create(policyMap("ours", "east", data));
    await client.resource(widgets).create({
      metadata: { ...at, name: "b", labels: assigned },
      spec,
    });
    await eventually(async () => {
      const { spec: found } = await copyOf(east, widgets);
      assert.deepEqual(found, { size: "small" });
    });
  });

  it("are refused with the place of what is wrong", () => {
    const wrong: readonly [text: string, message: RegExp][] = [
      ["[]", /policies are an object by resource\.group/],
      ['{"pods": 1}', /pods: a policy is an object/],
      [
        '{"pods": {"statusOwner": "me"}}',
        /pods\.statusOwner is one of downstream, upstream, nobody/,
      ],
      ['{"pods": {"contested": [{"path": 1}]}}', /pods\.contested is a list of/],
      ['{"pods": {"omitted": "spec"}}', /pods\.omitted is a list of paths/],
      ['{"pods": {"renamed": {"a": 1}}}', /pods\.renamed is an object of names/],
      ['{"pods": {"color": "red"}}', /pods\.color is not a field of a policy/],
    ];
    for (const [text, message] of wrong) assert.throws(() => parsePolicies(text), message);
  });
});

describe("an object without a namespace", () => {
  it("is synced, follows changes, is put right, and goes with its original", async (t) => {
    const { fleet: clusterSet, east } = await startFleet(t);
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
    assert.deepEqual((await copies.get({ name: "theirs" }))["rules"], [rule("get")]);
  });
});
