import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { locations, placements, syncTargets } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";

describe("Locations, Placements and what SyncTargets say for them", () => {
  let plane: TestControlPlane;
  let client: Client;
  before(async () => {
    plane = await startTestControlPlane({});
    client = plane.client.inCluster("kinds");
  });
  after(() => plane?.close());

  const refused = async (spec: object, because: RegExp) => {
    const metadata = { name: "wrong" };
    await assert.rejects(client.resource(placements).create({ metadata, spec } as never), because);
  };

  it("are served in every logical cluster, with their defaults", async () => {
    const location = await client
      .resource(locations)
      .create({ metadata: { name: "eu" }, spec: {} } as never);
    assert.deepEqual(location.spec.resource, {
      group: "workload.kcp.io",
      version: "v1alpha1",
      resource: "synctargets",
    });
    const placement = await client
      .resource(placements)
      .create({
        metadata: { name: "all" },
        spec: { spread: [{ topologyKey: "topology.kubernetes.io/region" }] },
      } as never);
    assert.equal(placement.spec.locationResource?.resource, "synctargets");
    assert.deepEqual(placement.spec.spread, [
      { topologyKey: "topology.kubernetes.io/region", maxSkew: 1 },
    ]);
    assert.equal(placement.spec.locationSelectors, undefined);
  });

  it("refuse what cannot be meant, and name it", async () => {
    await refused({ weights: { east: 1001 } }, /spec\.weights\.east.*less than or equal to 1000/);
    await refused({ tolerations: [{ operator: "Exists", value: "x" }] }, /Exists has no value/);
    await refused({ tolerations: [{ value: "x" }] }, /Equal needs a key/);
    const patches = [{ op: "add", path: "spec/replicas", value: 1 }];
    await refused({ overrides: [{ clusterSelector: {}, patches }] }, /patches\[0\]\.path/);
    const twice = { topologyKey: "zone" };
    await refused({ spread: [twice, twice] }, /Duplicate value/);
    const values = [{ matchExpressions: [{ key: "region", operator: "In" }] }];
    await refused({ locationSelectors: values }, /In and NotIn need values/);
    const key = { matchLabels: { "not a key": "eu" } };
    await refused({ namespaceSelector: key }, /keys must be keys of labels/);
    const elsewhere = { group: "apps", version: "v1", resource: "deployments" };
    await refused({ locationResource: elsewhere }, /Unsupported value/);
  });

  it("resourceLimits are quantities, and taints are known by key and effect", async () => {
    const target = (spec: object) =>
      client.resource(syncTargets).create({ metadata: { name: "east" }, spec } as never);
    const wrong = /must be quantities of zero or more/;
    await assert.rejects(target({ resourceLimits: { cpu: "much" } }), wrong);
    await assert.rejects(target({ resourceLimits: { pods: -1 } }), wrong);
    const taint = { key: "dedicated", value: "gpu", effect: "NoSchedule" };
    await assert.rejects(target({ taints: [taint, taint] }), /Duplicate value/);
    await assert.rejects(target({ taints: [{ ...taint, effect: "Sometimes" }] }), /Unsupported/);
    const resourceLimits = { cpu: "40", memory: "64Gi", pods: 500, workloads: 20 };
    const made = await target({ resourceLimits, taints: [taint] });
    assert.deepEqual([made.spec?.resourceLimits, made.spec?.taints], [resourceLimits, [taint]]);
  });

  it("belong to their own logical cluster", async () => {
    const other = plane.client.inCluster("others");
    assert.deepEqual((await other.resource(placements).list()).items, []);
    assert.deepEqual((await other.resource(locations).list()).items, []);
    await assert.rejects(other.resource(locations).get({ name: "eu" }), /not found/);
  });
});
