import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findCondition } from "@kcp-ts/sdk";
import { syncErrorAnnotation } from "../api/index.ts";
import { clusterCopyName, newClusterCopy, ownerLabelValue } from "./cluster-copy.ts";
import type { ClusterInfo } from "./cluster-state.ts";
import { type DecideInput, decide } from "./decide.ts";
import type { Deployment, DeploymentStatus } from "./deployment.ts";
import { asDeployment } from "./deployment.ts";
import { deploymentStrategy } from "./deployment-strategy.ts";
import { PlacementError, placementOf, placementTextMax, weightsAnnotation } from "./placement.ts";

const strategy = deploymentStrategy;
const nowMs = Date.UTC(2026, 0, 1);
const gracePeriods = { unreachableAfterMs: 60_000, recoveryMs: 0 };

const target = (name: string, more: Partial<ClusterInfo> = {}): ClusterInfo => ({
  name,
  labels: {},
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  isDeleting: false,
  ...more,
});

function workload(replicas: number, metadata: object = {}): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "demo", uid: "whole", generation: 1, ...metadata },
    spec: { replicas, template: { image: "web:1" } },
  };
}

function copy(
  parent: Deployment,
  cluster: string,
  replicas: number,
  status: DeploymentStatus = {},
  annotations: Record<string, string> = {},
): Deployment {
  const { metadata, spec } = newClusterCopy({ strategy, parent, cluster, share: { replicas } });
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
    copies: [],
    takenNames: new Set(),
    targets: [],
    gracePeriods,
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

describe("status of a workload", () => {
  it("the status says what to do when no clusters exist", () => {
    const found = said({ parent: workload(3) }, "Progressing");
    assert.equal(found?.status, "False");
    assert.equal(found?.reason, "Unschedulable");
    assert.match(
      found?.message ?? "",
      /no clusters are registered; register one with a SyncTarget/,
    );
    const { status } = decided({ parent: workload(3) });
    assert.equal(status.unavailableReplicas, 3);
    assert.equal(status.observedGeneration, 1);
  });

  it("the status names the cluster that fails, with the reason that the cluster reports", () => {
    const parent = workload(4);
    const copies = [
      copy(parent, "east", 2, progressing("NewReplicaSetAvailable")),
      copy(parent, "west", 2, progressing("ProgressDeadlineExceeded", "False")),
    ];
    const found = said(
      { parent, copies, targets: [target("east"), target("west")] },
      "Progressing",
    );
    assert.equal(found?.status, "False");
    assert.equal(found?.reason, "ProgressDeadlineExceeded");
    assert.match(found?.message ?? "", /^west: so it is/);
  });

  it("the status names the cluster whose report a move waits for", () => {
    const parent = workload(2);
    const copies = [
      copy(parent, "east", 1, { observedGeneration: 0, availableReplicas: 3 }),
      copy(parent, "west", 2, { replicas: 2, availableReplicas: 2 }),
    ];
    // The cluster east does not sync Deployments any more: it never applies the newest spec.
    const targets = [target("east", { synced: ["configmaps"] }), target("west")];
    const found = said({ parent, copies, targets }, "Scheduled");
    assert.equal(found?.reason, "Migrating");
    assert.equal(
      found?.message,
      "1 replica is removed when its replacements are available: east has not applied its newest spec",
    );
  });

  it("the status reports sync errors", () => {
    const parent = workload(2);
    const syncError = JSON.stringify({ reason: "Forbidden", message: "may not create" });
    const notes = { [syncErrorAnnotation("east")]: syncError };
    const copies = [copy(parent, "east", 2, {}, notes)];
    const found = said({ parent, copies, targets: [target("east")] }, "Progressing");
    assert.equal(found?.reason, "Forbidden");
    assert.equal(found?.message, "east: may not create");
  });

  it("a workload is available while one copy is starting, if enough replicas are available elsewhere", () => {
    const parent = workload(4);
    const copies = [copy(parent, "east", 4, { availableReplicas: 4 }), copy(parent, "west", 2)];
    const input = { parent, copies, targets: [target("east"), target("west")] };
    assert.equal(said(input, "Available")?.status, "True");
    assert.equal(said(input, "Scheduled")?.reason, "Migrating");
  });

  it("a generation is observed when all copies have it and their clusters have observed it", () => {
    const parent = { ...workload(4, { generation: 7 }), status: { observedGeneration: 6 } };
    const targets = [target("east"), target("west")];
    const [east, west] = [copy(parent, "east", 2), copy(parent, "west", 2)];
    const observed = (...copies: Deployment[]) =>
      decided({ parent, copies, targets }).status.observedGeneration;
    assert.equal(observed(east, west), 7);
    assert.equal(observed(east, { ...west, status: { observedGeneration: 0 } }), 6);
    assert.equal(observed(east, { ...west, spec: { ...west.spec, template: {} } }), 6);
    assert.equal(observed(east), 6);
  });

  it("replicas of an Unreachable cluster count as 0, and an unchanged status is the identical object", () => {
    const parent = workload(2);
    const copies = [
      copy(parent, "east", 2, { readyReplicas: 2, replicas: 2, availableReplicas: 2 }),
      copy(parent, "west", 1, { readyReplicas: 1, replicas: 1, availableReplicas: 1 }),
    ];
    const targets = [target("east"), target("west", { isReady: false })];
    const { status, events } = decided({ parent, copies, targets });
    assert.equal(status.readyReplicas, 2);
    assert.ok(events.some(({ reason }) => reason === "ClusterUnreachable"));
    const again = decided({ parent: { ...parent, status }, copies, targets });
    assert.equal(again.status, status);
  });
});

describe("per-cluster objects", () => {
  it("per-cluster objects have the parent's labels and annotations, except internal keys", () => {
    const annotations = {
      "example.io/team": "blue",
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
      "deployment.kubernetes.io/revision": "3",
      "kcp.io/cluster": "root",
    };
    const parent = workload(2, { labels: { app: "web" }, annotations });
    const [made] = decided({ parent, targets: [target("east")] }).creations;
    assert.deepEqual(made?.metadata.annotations, { "example.io/team": "blue" });
    assert.deepEqual(made?.metadata.labels, {
      app: "web",
      "workload.kcp.io/cluster": "east",
      "workload.kcp.io/owned-by": "web",
    });
  });

  it("per-cluster objects keep the syncer's annotations, and lose those that the parent no longer has", () => {
    const parent = workload(2);
    const notes = { "sync-error.workload.kcp.io/east": "{}", "example.io/old": "yes" };
    const copies = [copy(parent, "east", 2, {}, notes)];
    const [updated] = decided({ parent, copies, targets: [target("east")] }).updates;
    assert.equal(updated?.metadata.annotations?.["sync-error.workload.kcp.io/east"], "{}");
    assert.equal(updated?.metadata.annotations?.["example.io/old"], undefined);
  });

  it("names and labels of per-cluster objects fit their limits, for any length of the parent's name", () => {
    const fits = "a".repeat(253 - "--east".length);
    assert.equal(clusterCopyName(fits, "east"), `${fits}--east`);
    assert.equal(clusterCopyName(`${fits}b`, "east").length, 253);
    assert.notEqual(clusterCopyName(`${fits}b`, "east"), clusterCopyName(`${fits}c`, "east"));
    assert.equal(ownerLabelValue("a".repeat(63)).length, 63);
    assert.equal(ownerLabelValue("a".repeat(64)).length, 63);
  });

  it("an object without the shape of a Deployment gets no per-cluster objects", () => {
    const { apiVersion, kind, metadata } = workload(1);
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

describe("placement annotations", () => {
  const weights = (text: string) => placementOf({ [weightsAnnotation]: text }).weights;

  it("weights are parsed up to the limit, and rejected beyond it", () => {
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

  it("a cluster selector selects clusters by their labels", () => {
    const parent = workload(4, {
      annotations: { "workload.kcp.io/cluster-selector": "region in (us)" },
    });
    const targets = [target("east", { labels: { region: "us" } }), target("paris")];
    const { creations } = decided({ parent, targets });
    assert.deepEqual(
      creations.map(({ metadata }) => metadata.name),
      ["web--east"],
    );
  });
});
