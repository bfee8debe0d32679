/**
 * Goal: edits of a workload reach its copies as a rollout in one cluster does: step by step,
 * paused, rolled back, and on to the newest. Method: decisions, and clusters that apply their specs
 * immediately.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterInfo } from "../cluster-state.ts";
import { decide } from "../decide.ts";
import { deploymentStrategy as strategy } from "../deployment-strategy.ts";
import type { PlacementRecord } from "../placement-record.ts";
import type { Workload } from "../workload.ts";

const target = (name: string): ClusterInfo => ({
  name,
  labels: {},
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  isDeleting: false,
});

/** A workload with one replica in each cluster, and maxUnavailable 1. */
class Scene {
  parent: Workload;
  record: PlacementRecord | undefined;
  readonly parts = new Map<string, Workload>();
  names: readonly string[];
  nowMs = Date.UTC(2026, 0, 1);
  /** Selects the clusters and images whose Pods do not become available. */
  isBroken: (name: string, image: string) => boolean = () => false;

  constructor(...names: string[]) {
    this.names = names;
    const rollingUpdate = { maxUnavailable: 1, maxSurge: 0 };
    this.parent = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", namespace: "demo", uid: "whole", generation: 1 },
      spec: {
        replicas: names.length,
        strategy: { type: "RollingUpdate", rollingUpdate },
        template: { image: "web:1" },
      },
    };
    this.settle();
  }

  edit(spec: object, metadata: object = {}): void {
    const generation = (this.parent.metadata.generation ?? 0) + 1;
    this.parent = {
      ...this.parent,
      metadata: { ...this.parent.metadata, ...metadata, generation },
      spec: { ...this.parent.spec, ...spec },
    };
  }

  annotate(annotations: Readonly<Record<string, string>>): void {
    this.edit({}, { annotations });
  }

  /** Makes one decision and applies it to the API objects. */
  look() {
    const { parent, nowMs } = this;
    const decision = decide({
      strategy,
      parent,
      record: this.record,
      copies: [...this.parts.values()],
      takenNames: new Set(),
      targets: this.names.map(target),
      gracePeriods: { unreachableAfterMs: 60_000, recoveryMs: 0 },
      nowMs,
    });
    for (const made of [...decision.creations, ...decision.updates, ...decision.scaleDowns]) {
      const copy = made as Workload;
      const { name, generation = 0 } = copy.metadata;
      const isSame = jsonEqual(copy.spec, this.parts.get(name)?.spec ?? null);
      const metadata = { ...copy.metadata, generation: generation + (isSame ? 0 : 1) };
      this.parts.set(name, { ...copy, metadata });
    }
    this.parent = { ...parent, status: decision.status };
    this.record = decision.record;
    return decision;
  }

  /** The clusters apply their specs. */
  run(): void {
    for (const [name, copy] of this.parts) {
      const { replicas = 1 } = copy.spec as { replicas?: number };
      const ready = this.isBroken(name, imageOf(copy)) ? 0 : replicas;
      const counts = { replicas, updatedReplicas: replicas, availableReplicas: ready };
      const observedGeneration = copy.metadata.generation ?? 0;
      this.parts.set(name, { ...copy, status: { ...counts, observedGeneration } });
    }
  }

  settle(): void {
    for (let step = 0; step < 20; step++) {
      this.look();
      this.run();
    }
  }

  get images(): string {
    return [...this.parts.values()].map(imageOf).join(" ");
  }

  condition(type: string): { readonly status?: string; readonly reason?: string } {
    const { conditions = [] } = (this.parent.status ?? {}) as {
      conditions?: readonly { type: string; status: string; reason: string }[];
    };
    return conditions.find((one) => one.type === type) ?? {};
  }
}

function imageOf({ spec }: Workload): string {
  return (spec as { template: { image: string } }).template.image;
}

describe("edit of a workload", () => {
  it("an edit reaches one cluster after the other", () => {
    const fixture = new Scene("a", "b", "c");
    fixture.edit({ template: { image: "web:2" } });
    fixture.look();
    assert.equal(fixture.images, "web:2 web:1 web:1");
    fixture.look();
    assert.equal(fixture.images, "web:2 web:1 web:1", "the first is not done");
    fixture.run();
    fixture.look();
    assert.equal(fixture.images, "web:2 web:2 web:1");
    assert.equal(fixture.condition("Progressing").reason, "ReplicaSetUpdated");
    assert.equal(fixture.condition("Scheduled").reason, "RollingOut");
    fixture.settle();
    assert.equal(fixture.images, "web:2 web:2 web:2");
    assert.equal(fixture.condition("Scheduled").reason, "AllReplicasScheduled");
    assert.ok(fixture.record?.clusters?.every((one) => one.rollout === undefined));
    assert.equal(fixture.record?.templates, undefined);
  });

  it("an edit that replaces no Pods reaches all clusters at once", () => {
    const fixture = new Scene("a", "b", "c");
    fixture.edit({ minReadySeconds: 3, template: { image: "web:2" } }, { labels: { team: "x" } });
    fixture.look();
    const copies = [...fixture.parts.values()];
    assert.deepEqual(
      copies.map(({ metadata, spec }) => [metadata.labels?.["team"], spec["minReadySeconds"]]),
      [
        ["x", 3],
        ["x", 3],
        ["x", 3],
      ],
    );
    assert.equal(fixture.images, "web:2 web:1 web:1");
  });

  it("an edit during a rollout continues to the newest template", () => {
    const fixture = new Scene("a", "b", "c");
    fixture.edit({ template: { image: "web:2" } });
    fixture.look();
    fixture.run();
    fixture.look();
    assert.equal(fixture.images, "web:2 web:2 web:1");
    fixture.edit({ template: { image: "web:3" } });
    fixture.look();
    assert.equal(fixture.images, "web:2 web:3 web:1", "who is at it goes first");
    fixture.settle();
    assert.equal(fixture.images, "web:3 web:3 web:3");
  });

  it("an edit that corrects a failed rollout reaches the failed cluster", () => {
    const fixture = new Scene("a", "b", "c");
    fixture.isBroken = (_name, image) => image === "web:2";
    fixture.edit({ template: { image: "web:2" } });
    fixture.settle();
    assert.equal(fixture.images, "web:2 web:1 web:1", "the others wait");
    fixture.edit({ template: { image: "web:3" } });
    fixture.settle();
    assert.equal(fixture.images, "web:3 web:3 web:3");
  });

  for (const pause of ["annotation", "spec"]) {
    it(`an edit waits while its ${pause} pauses it, and a new cluster gets the template of the others`, () => {
      const fixture = new Scene("a", "b");
      if (pause === "spec") fixture.edit({ paused: true });
      else fixture.annotate({ "workload.kcp.io/paused": "true" });
      fixture.edit({ replicas: 5, template: { image: "web:2" } });
      fixture.names = ["a", "b", "c"];
      fixture.settle();
      assert.equal(fixture.images, "web:1 web:1 web:1");
      assert.equal(fixture.condition("Progressing").reason, "DeploymentPaused");
      fixture.edit({ paused: false }, { annotations: {} });
      fixture.settle();
      assert.equal(fixture.images, "web:2 web:2 web:2");
    });
  }

  it("an edit is rolled back when it misses its deadline, and another edit is tried", () => {
    const fixture = new Scene("a", "b", "c");
    fixture.annotate({ "workload.kcp.io/progress-deadline-seconds": "10" });
    fixture.settle();
    fixture.isBroken = (_name, image) => image === "web:2";
    fixture.edit({ template: { image: "web:2" } });
    fixture.settle();
    assert.equal(fixture.images, "web:2 web:1 web:1");
    fixture.nowMs += 11_000;
    fixture.look();
    assert.equal(fixture.images, "web:1 web:1 web:1");
    fixture.settle();
    assert.equal(fixture.images, "web:1 web:1 web:1");
    assert.equal(fixture.condition("Progressing").reason, "ProgressDeadlineExceeded");
    assert.equal(fixture.condition("Scheduled").reason, "RolledBack");
    fixture.edit({ template: { image: "web:3" } });
    fixture.settle();
    assert.equal(fixture.images, "web:3 web:3 web:3");
  });

  it("an edit is rolled back in the clusters in which it succeeded, too", () => {
    const fixture = new Scene("a", "b", "c");
    fixture.annotate({ "workload.kcp.io/progress-deadline-seconds": "10" });
    fixture.isBroken = (name, image) => name === "web--b" && image === "web:2";
    fixture.edit({ template: { image: "web:2" } });
    fixture.settle();
    assert.equal(fixture.images, "web:2 web:2 web:1");
    fixture.nowMs += 11_000;
    fixture.look();
    assert.equal(fixture.images, "web:2 web:1 web:1", "who is unavailable goes first");
    fixture.settle();
    assert.equal(fixture.images, "web:1 web:1 web:1");
    assert.equal(fixture.condition("Scheduled").reason, "RolledBack");
  });

  it("an edit reaches all clusters at once with the strategy Recreate", () => {
    const fixture = new Scene("a", "b", "c");
    fixture.edit({ strategy: { type: "Recreate" }, template: { image: "web:2" } });
    fixture.look();
    assert.equal(fixture.images, "web:2 web:2 web:2");
  });
});
