import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findCondition } from "@kcp-ts/sdk";
import { type DecideInput, decide } from "./decide.ts";
import type { Deployment, DeploymentStatus } from "./deployment.ts";
import { asDeployment, replicasOf } from "./deployment.ts";
import { deploymentStrategy } from "./deployment-strategy.ts";
import { clusterCopyName, newClusterCopy, ownerLabelValue } from "./part.ts";
import { PlacementError, placementOf, placementTextMax, weightsAnnotation } from "./placement.ts";
import type { ClusterInfo } from "./standing.ts";
import { syncedAnnotation } from "./synced.ts";

const strategy = deploymentStrategy;
const nowMs = Date.UTC(2026, 0, 1);
const patience = { graceMs: 60_000, settleMs: 0 };

const target = (name: string, more: Partial<ClusterInfo> = {}): ClusterInfo => ({
  name,
  labels: {},
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  evictAfterMs: undefined,
  isDeleting: false,
  ...more,
});

function whole(replicas: number, metadata: object = {}): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "demo", uid: "whole", generation: 1, ...metadata },
    spec: { replicas, template: { image: "web:1" } },
  };
}

function part(
  parent: Deployment,
  cluster: string,
  replicas: number,
  status: DeploymentStatus = {},
  annotations: Record<string, string> = {},
): Deployment {
  const { metadata, spec } = newClusterCopy({
    strategy,
    parent,
    cluster,
    share: { replicas },
    askedReplicas: replicasOf(parent),
  });
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      ...metadata,
      name: clusterCopyName("web", cluster),
      generation: 1,
      annotations: { ...metadata.annotations, ...annotations },
    },
    spec,
    status: { observedGeneration: 1, ...status },
  };
}

const decided = (input: Pick<DecideInput, "parent"> & Partial<DecideInput>) => {
  const decision = decide({
    strategy,
    parts: [],
    takenNames: new Set(),
    targets: [],
    patience,
    nowMs,
    ...input,
  });
  return { ...decision, status: decision.status as DeploymentStatus };
};
const said = (input: Parameters<typeof decided>[0], type: string) =>
  findCondition(decided(input).status.conditions, type);

const progressing = (reason: string, status: "True" | "False" = "True") => ({
  conditions: [
    { type: "Progressing", status, reason, message: "so it is", lastTransitionTime: "" },
  ],
});

describe("the status of a whole", () => {
  it("says what to do when there are no clusters", () => {
    const found = said({ parent: whole(3) }, "Progressing");
    assert.equal(found?.status, "False");
    assert.equal(found?.reason, "NoRegisteredClusters");
    assert.match(found?.message ?? "", /SyncTarget/);
    const { status } = decided({ parent: whole(3) });
    assert.equal(status.unavailableReplicas, 3);
    assert.equal(status.observedGeneration, 1);
  });

  it("names the cluster that fails, with the reason that the cluster gives", () => {
    const parent = whole(4);
    const parts = [
      part(parent, "east", 2, progressing("NewReplicaSetAvailable")),
      part(parent, "west", 2, progressing("ProgressDeadlineExceeded", "False")),
    ];
    const found = said({ parent, parts, targets: [target("east"), target("west")] }, "Progressing");
    assert.equal(found?.status, "False");
    assert.equal(found?.reason, "ProgressDeadlineExceeded");
    assert.match(found?.message ?? "", /^west: so it is/);
  });

  it("says what the syncer could not do", () => {
    const parent = whole(2);
    const trouble = JSON.stringify({ reason: "Forbidden", message: "may not create" });
    const notes = { [syncedAnnotation("east")]: trouble };
    const parts = [part(parent, "east", 2, {}, notes)];
    const found = said({ parent, parts, targets: [target("east")] }, "Progressing");
    assert.equal(found?.reason, "Forbidden");
    assert.equal(found?.message, "east: may not create");
  });

  it("is available while a part only starts, if enough is available elsewhere", () => {
    const parent = whole(4);
    const parts = [part(parent, "east", 4, { availableReplicas: 4 }), part(parent, "west", 2)];
    const input = { parent, parts, targets: [target("east"), target("west")] };
    assert.equal(said(input, "Available")?.status, "True");
    assert.equal(said(input, "Placed")?.reason, "Moving");
  });

  it("observes a generation when all parts have it and their clusters have observed it", () => {
    const parent = { ...whole(4, { generation: 7 }), status: { observedGeneration: 6 } };
    const targets = [target("east"), target("west")];
    const [east, west] = [part(parent, "east", 2), part(parent, "west", 2)];
    const observed = (...parts: Deployment[]) =>
      decided({ parent, parts, targets }).status.observedGeneration;
    assert.equal(observed(east, west), 7);
    assert.equal(observed(east, { ...west, status: { observedGeneration: 0 } }), 6);
    assert.equal(observed(east, { ...west, spec: { ...west.spec, template: {} } }), 6);
    assert.equal(observed(east), 6);
  });

  it("counts nothing of a lost cluster, and is the same object when nothing changes", () => {
    const parent = whole(2);
    const parts = [
      part(parent, "east", 2, { readyReplicas: 2, replicas: 2, availableReplicas: 2 }),
      part(parent, "west", 1, { readyReplicas: 1, replicas: 1, availableReplicas: 1 }),
    ];
    const targets = [target("east"), target("west", { isReady: false })];
    const { status, happenings } = decided({ parent, parts, targets });
    assert.equal(status.readyReplicas, 2);
    assert.ok(happenings.some(({ reason }) => reason === "ClusterLost"));
    const again = decided({ parent: { ...parent, status }, parts, targets });
    assert.equal(again.status, status);
  });
});

describe("parts", () => {
  it("have the parent's labels and annotations, but for those of the machinery", () => {
    const annotations = {
      "example.io/team": "blue",
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
      "deployment.kubernetes.io/revision": "3",
      "kcp.io/cluster": "root",
    };
    const parent = whole(2, { labels: { app: "web" }, annotations });
    const [made] = decided({ parent, targets: [target("east")] }).creations;
    assert.deepEqual(made?.metadata.annotations, {
      "example.io/team": "blue",
      "workloads.kcp.io/asked-replicas": "2",
    });
    assert.deepEqual(made?.metadata.labels, {
      app: "web",
      "workloads.kcp.io/cluster": "east",
      "kcp.io/owned-by": "web",
    });
  });

  it("keep what the syncer wrote on them, and lose what the parent no longer has", () => {
    const parent = whole(2);
    const notes = { "synced.workload.kcp.io/east": "{}", "example.io/old": "yes" };
    const parts = [part(parent, "east", 2, {}, notes)];
    const [updated] = decided({ parent, parts, targets: [target("east")] }).updates;
    assert.equal(updated?.metadata.annotations?.["synced.workload.kcp.io/east"], "{}");
    assert.equal(updated?.metadata.annotations?.["example.io/old"], undefined);
  });

  it("have names and labels that fit, however long the parent's name is", () => {
    const fits = "a".repeat(253 - "--east".length);
    assert.equal(clusterCopyName(fits, "east"), `${fits}--east`);
    assert.equal(clusterCopyName(`${fits}b`, "east").length, 253);
    assert.notEqual(clusterCopyName(`${fits}b`, "east"), clusterCopyName(`${fits}c`, "east"));
    assert.equal(ownerLabelValue("a".repeat(63)).length, 63);
    assert.equal(ownerLabelValue("a".repeat(64)).length, 63);
  });

  it("are made of nothing that does not look like a Deployment", () => {
    const { apiVersion, kind, metadata } = whole(1);
    for (const spec of [
      undefined,
      "text",
      [],
      { replicas: "3" },
      { replicas: -1 },
      { replicas: 2 ** 31 },
    ]) {
      assert.equal(asDeployment({ apiVersion, kind, metadata, spec } as never), undefined);
    }
    for (const spec of [{}, { replicas: 0 }, { replicas: 2 ** 31 - 1 }]) {
      assert.notEqual(asDeployment({ apiVersion, kind, metadata, spec } as never), undefined);
    }
  });
});

describe("placement", () => {
  const weights = (text: string) => placementOf({ [weightsAnnotation]: text }).weights;

  it("reads weights up to the limit, and refuses what lies beyond", () => {
    assert.deepEqual(
      [...weights(" east = 3, west=0,")],
      [
        ["east", 3],
        ["west", 0],
      ],
    );
    assert.equal(weights("east=1000").get("east"), 1000);
    for (const text of ["east=1001", "east", "=3", "east=-1", "east=1.5"]) {
      assert.throws(() => weights(text), PlacementError, text);
    }
    assert.equal(weights(" ".repeat(placementTextMax)).size, 0);
    assert.throws(() => weights(" ".repeat(placementTextMax + 1)), PlacementError);
  });

  it("selects clusters by their labels", () => {
    const parent = whole(4, {
      annotations: { "workloads.kcp.io/cluster-selector": "region in (us)" },
    });
    const targets = [target("east", { labels: { region: "us" } }), target("paris")];
    const { creations } = decided({ parent, targets });
    assert.deepEqual(
      creations.map(({ metadata }) => metadata.name),
      ["web--east"],
    );
  });
});
