/**
 * Goal: volumes of workspaces that use the clusters of another one move as those of its own do; no
 * tenant gets another tenant's volume, and only the owner of the clusters sees PersistentVolumes.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type SyncTarget, syncTargets } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import type { SimulatedCluster } from "@kcp-ts/simulator";
import { deployment, deployments, eventually } from "./fixture.ts";
import {
  bind,
  namespacesByOwner,
  sharedNameOf,
  startSharedCompute,
  untilReplicas,
} from "./tenants.ts";
import { claims, data, type StoredObject, volumes } from "./volume-fixture.ts";

const resources = [
  "deployments.apps",
  "replicasets.apps",
  "persistentvolumeclaims",
  "persistentvolumes",
];

function offered(t: TestContext) {
  const awaited = ["deployments.apps", "persistentvolumeclaims"];
  return startSharedCompute(t, { resources, awaited, cordoned: "west" });
}

async function apply(client: Client, annotations: Readonly<Record<string, string>>) {
  const spec = {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "shared",
    resources: { requests: { storage: "1Gi" } },
  };
  await client.resource(claims).create({ metadata: { ...data, annotations }, spec });
  const used = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
  await client.resource(deployments).create(deployment("web", { volumes: used }));
  await untilReplicas(client, "web", 2);
}

/** By cluster: the handle of the volume that the claim of a logical cluster has there. */
async function handlesOf(
  owner: string,
  clusters: ReadonlyMap<string, SimulatedCluster>,
): Promise<Record<string, string | undefined>> {
  const found: Record<string, string | undefined> = {};
  for (const [name, { client }] of clusters) {
    const [namespace] = (await namespacesByOwner(client)).get(owner) ?? [];
    const claim =
      namespace === undefined
        ? undefined
        : await client.resource(claims).find({ namespace, name: "data" });
    const { items } = await client.resource(volumes).list({});
    const volume = items.find(({ metadata }) => metadata.name === claim?.spec?.["volumeName"]);
    found[name] = (volume?.spec?.["csi"] as { volumeHandle?: string } | undefined)?.volumeHandle;
  }
  return found;
}

async function said(client: Client, target: string): Promise<{ reason?: string }> {
  const { metadata } = await client.resource(claims).get(data);
  return JSON.parse(metadata.annotations?.["workload.kcp.io/volumes"] ?? "{}")[target] ?? {};
}

async function homeOf(client: Client): Promise<string> {
  const { metadata } = await client.resource(claims).get(data);
  return metadata.annotations?.["workload.kcp.io/volume-cluster"] ?? "";
}

describe("volumes of workspaces that use the clusters of another one", () => {
  it("move by what their claims allow when who has the clusters empties one, and stay each with its own", async (t) => {
    const { plane, compute, clusters } = await offered(t);
    const [free, tied] = [plane.clientFor("free"), plane.clientFor("tied")];
    for (const client of [free, tied]) await bind(client, "compute");
    const [home, other] = ["east", "west"] as const;
    await apply(free, { "workload.kcp.io/volume-migration": "detach" });
    await apply(tied, {});
    for (const client of [free, tied])
      assert.equal(await homeOf(client), sharedNameOf("compute", home));
    const [mine, theirs] = [await handlesOf("free", clusters), await handlesOf("tied", clusters)];
    assert.match(mine[home] ?? "", /^pvc-/);
    assert.match(theirs[home] ?? "", /^pvc-/);
    assert.notEqual(mine[home], theirs[home]);

    const change = (name: string, spec: SyncTarget["spec"]) =>
      compute.resource(syncTargets).patch({ name }, { type: "merge", patch: { spec } } as never);
    await change(other, { unschedulable: false });
    await change(home, { drain: {} });
    await eventually(async () => {
      assert.deepEqual(await handlesOf("free", clusters), {
        [home]: undefined,
        [other]: mine[home],
      });
      assert.equal(
        (await said(tied, sharedNameOf("compute", other))).reason,
        "IncompatibleAccessMode",
      );
    });
    await untilReplicas(free, "web", 2);
    await untilReplicas(tied, "web", 2);
    assert.equal(await homeOf(free), sharedNameOf("compute", other));
    assert.deepEqual(await handlesOf("tied", clusters), {
      [home]: theirs[home],
      [other]: undefined,
    });

    // The volume is reserved for its claim from the beginning: no other claim can bind it.
    const brought = (await compute.resource(volumes).list({})).items.filter(({ metadata }) =>
      metadata.name.startsWith("kcp-"),
    );
    const owners = await namespacesByOwner((clusters.get(other) as SimulatedCluster).client);
    assert.deepEqual(
      brought.map(({ spec }) => {
        const claim = spec?.["claimRef"] as StoredObject["metadata"] | undefined;
        return [claim?.namespace, claim?.name];
      }),
      [[owners.get("free")?.[0], "data"]],
    );
    // Volumes are known where the clusters are, and nowhere else.
    for (const client of [free, tied]) {
      await assert.rejects(client.resource(volumes).list({}), { reason: "NotFound" });
    }
  });
});
