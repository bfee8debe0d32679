/**
 * Goal: what a workload needs is where the workload is, and nowhere else: not when nothing needs
 * it, and never another's.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stateLabel, syncTargets } from "@kcp-ts/multicluster";
import { namespaces } from "@kcp-ts/sdk/kinds";
import { eventually } from "./fixture.ts";
import {
  type Kind,
  namespace,
  podSpec,
  startWorkloadFixture,
  type WorkloadFixture,
  workload,
} from "./workload-fixture.ts";

const needing = {
  ...podSpec,
  serviceAccountName: "robot",
  volumes: [
    { name: "settings", configMap: { name: "settings" } },
    { name: "key", secret: { secretName: "key" } },
  ],
};

const web = (name: string, replicas: number, annotations: object = {}) => {
  const made = workload(name, {
    replicas,
    template: { metadata: { labels: { app: name } }, spec: needing },
  }) as { metadata: object; spec: object };
  return { ...made, metadata: { ...made.metadata, annotations } };
};

/** What workloads bring along; clusters have ConfigMaps and Secrets of their own. */
async function carried(
  fixture: WorkloadFixture,
  kind: Kind,
  cluster: string,
): Promise<readonly string[]> {
  const { items } = await fixture
    .at(kind, fixture.cluster(cluster).client)
    .list({ labelSelector: "internal.workload.kcp.io/cluster" });
  return items.map(({ metadata }) => metadata.name).sort();
}

async function makeNeeded(fixture: WorkloadFixture, client = fixture.client): Promise<void> {
  const metadata = (name: string) => ({ name, namespace });
  const data = { from: "default" };
  await fixture.make("configMaps", { metadata: metadata("settings"), data }, client);
  await fixture.make("configMaps", { metadata: metadata("unused"), data }, client);
  await fixture.make("secrets", { metadata: metadata("key"), stringData: data }, client);
  await fixture.make("secrets", { metadata: metadata("pull"), stringData: data }, client);
  await fixture.make("secrets", { metadata: metadata("other-key"), stringData: data }, client);
  const imagePullSecrets = [{ name: "pull" }];
  await fixture.make("accounts", { metadata: metadata("robot"), imagePullSecrets }, client);
}

describe("what workloads need", () => {
  it("goes along with them, leaves with them, and nothing else does", async (t) => {
    const stage = await startWorkloadFixture(t, "east", "west");
    await makeNeeded(stage);
    const only = { "workload.kcp.io/cluster-weights": "west=0" };
    await stage.make("deployments", web("web", 2, only));
    await stage.untilStatus("deployments", "web", (status) =>
      assert.equal(status["readyReplicas"], 2),
    );
    await eventually(async () => {
      assert.deepEqual(await carried(stage, "configMaps", "east"), ["settings"]);
      assert.deepEqual(await carried(stage, "secrets", "east"), ["key", "pull"]);
      assert.deepEqual(await carried(stage, "accounts", "east"), ["robot"]);
    });
    assert.deepEqual(await carried(stage, "secrets", "west"), []);
    assert.deepEqual(await carried(stage, "configMaps", "west"), []);

    // Moved: it is in the new place, and then no more in the old one.
    const annotations = { "workload.kcp.io/cluster-weights": "east=0" };
    const at = { namespace, name: "web" };
    await stage
      .at("deployments")
      .patch(at, { type: "merge", patch: { metadata: { annotations } } });
    await eventually(async () => {
      assert.deepEqual(await carried(stage, "secrets", "west"), ["key", "pull"]);
      assert.deepEqual(await carried(stage, "secrets", "east"), []);
      assert.deepEqual(await carried(stage, "accounts", "east"), []);
    });

    // What people assign themselves stays where they want it.
    const labels = { [stateLabel("east")]: "Sync" };
    const patch = { metadata: { labels } };
    const unused = { namespace, name: "unused" };
    await stage.at("configMaps").patch(unused, { type: "merge", patch });
    await eventually(async () =>
      assert.deepEqual(await carried(stage, "configMaps", "east"), ["unused"]),
    );
    await stage.at("deployments").delete(at);
    await eventually(async () => assert.deepEqual(await carried(stage, "secrets", "west"), []));
    assert.deepEqual(await carried(stage, "configMaps", "east"), ["unused"]);
    await eventually(async () => {
      const { metadata } = await stage.at("secrets").get({ namespace, name: "key" });
      assert.deepEqual(metadata.finalizers ?? [], []);
    });
  });

  it("is of the workload's own namespace and logical cluster, whatever others are called", async (t) => {
    const stage = await startWorkloadFixture(t, "east");
    await stage.client.resource(namespaces).create({ metadata: { name: "other" } });
    const elsewhere = { name: "key", namespace: "other" };
    await stage.make("secrets", { metadata: elsewhere, stringData: { from: "other" } });
    const tenant = stage.plane.clientFor("tenant");
    await makeNeeded(stage, tenant);
    await stage.make("deployments", web("web", 1));
    await eventually(async () =>
      assert.deepEqual(await stage.inCluster("deployments", "east"), ["web--east"]),
    );
    // The dependency is missing: an object of another owner does not replace it.
    await makeNeeded(stage);
    await eventually(async () =>
      assert.deepEqual(await carried(stage, "secrets", "east"), ["key", "pull"]),
    );
    const { items } = await stage
      .at("secrets", stage.cluster("east").client)
      .list({ labelSelector: "internal.workload.kcp.io/cluster" });
    const values = items.map(({ data }) => Buffer.from(data?.["from"] ?? "", "base64").toString());
    assert.deepEqual(values, ["default", "default"]);
    for (const [client, at] of [
      [stage.client, elsewhere],
      [tenant, { namespace, name: "key" }],
    ] as const) {
      const { metadata } = await stage.at("secrets", client).get(at);
      assert.equal(metadata.labels, undefined);
      assert.equal(metadata.finalizers, undefined);
    }
    const { items: targets } = await tenant.resource(syncTargets).list({});
    assert.deepEqual(targets, []);
  });
});
