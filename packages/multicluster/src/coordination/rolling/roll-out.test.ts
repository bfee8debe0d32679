/** Goal: edits of a whole reach its parts as a rollout in one cluster would: in turns, paused, undone, and on to the newest. Method: decisions, and clusters that do at once what they are told. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jsonEqual } from "@kcp-ts/machinery/json";
import { decide } from "../decide.ts";
import { deploymentStrategy as strategy } from "../deployment-strategy.ts";
import type { ClusterInfo } from "../standing.ts";
import type { Workload } from "../workload.ts";
import { rolloutRecordAnnotation } from "./roll-record.ts";

const target = (name: string): ClusterInfo => ({
  name,
  labels: {},
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  evictAfterMs: undefined,
  isDeleting: false,
});

/** A whole of one replica in each cluster, of which one may be unavailable. */
class Scene {
  parent: Workload;
  readonly parts = new Map<string, Workload>();
  names: readonly string[];
  nowMs = Date.UTC(2026, 0, 1);
  /** What does not become available, and where. */
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

  /** One decision, and what it leads to in the API. */
  look() {
    const { parent, nowMs } = this;
    const decision = decide({
      strategy,
      parent,
      parts: [...this.parts.values()],
      takenNames: new Set(),
      targets: this.names.map(target),
      patience: { graceMs: 60_000, settleMs: 0 },
      nowMs,
    });
    for (const made of [...decision.creations, ...decision.updates, ...decision.cuts]) {
      const part = made as Workload;
      const { name, generation = 0 } = part.metadata;
      const isSame = jsonEqual(part.spec, this.parts.get(name)?.spec ?? null);
      const metadata = { ...part.metadata, generation: generation + (isSame ? 0 : 1) };
      this.parts.set(name, { ...part, metadata });
    }
    this.parent = { ...parent, status: decision.status };
    return decision;
  }

  /** Clusters do what they are told. */
  run(): void {
    for (const [name, part] of this.parts) {
      const { replicas = 1 } = part.spec as { replicas?: number };
      const ready = this.isBroken(name, imageOf(part)) ? 0 : replicas;
      const counts = { replicas, updatedReplicas: replicas, availableReplicas: ready };
      const observedGeneration = part.metadata.generation ?? 0;
      this.parts.set(name, { ...part, status: { ...counts, observedGeneration } });
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

describe("an edit of a whole", () => {
  it("reaches one cluster after the other", () => {
    const scene = new Scene("a", "b", "c");
    scene.edit({ template: { image: "web:2" } });
    scene.look();
    assert.equal(scene.images, "web:2 web:1 web:1");
    scene.look();
    assert.equal(scene.images, "web:2 web:1 web:1", "the first is not done");
    scene.run();
    scene.look();
    assert.equal(scene.images, "web:2 web:2 web:1");
    assert.equal(scene.condition("Progressing").reason, "ReplicaSetUpdated");
    assert.equal(scene.condition("Placed").reason, "RollingOut");
    scene.settle();
    assert.equal(scene.images, "web:2 web:2 web:2");
    assert.equal(scene.condition("Placed").reason, "Split");
    const records = [...scene.parts.values()].map((one) => one.metadata.annotations);
    assert.ok(records.every((one) => one?.[rolloutRecordAnnotation] === undefined));
  });

  it("reaches all of them at once where no Pods are replaced", () => {
    const scene = new Scene("a", "b", "c");
    scene.edit({ minReadySeconds: 3, template: { image: "web:2" } }, { labels: { team: "x" } });
    scene.look();
    const parts = [...scene.parts.values()];
    assert.deepEqual(
      parts.map(({ metadata, spec }) => [metadata.labels?.["team"], spec["minReadySeconds"]]),
      [
        ["x", 3],
        ["x", 3],
        ["x", 3],
      ],
    );
    assert.equal(scene.images, "web:2 web:1 web:1");
  });

  it("in the middle of another goes on to the newest", () => {
    const scene = new Scene("a", "b", "c");
    scene.edit({ template: { image: "web:2" } });
    scene.look();
    scene.run();
    scene.look();
    assert.equal(scene.images, "web:2 web:2 web:1");
    scene.edit({ template: { image: "web:3" } });
    scene.look();
    assert.equal(scene.images, "web:2 web:3 web:1", "who is at it goes first");
    scene.settle();
    assert.equal(scene.images, "web:3 web:3 web:3");
  });

  it("is corrected where it went wrong", () => {
    const scene = new Scene("a", "b", "c");
    scene.isBroken = (_name, image) => image === "web:2";
    scene.edit({ template: { image: "web:2" } });
    scene.settle();
    assert.equal(scene.images, "web:2 web:1 web:1", "the others wait");
    scene.edit({ template: { image: "web:3" } });
    scene.settle();
    assert.equal(scene.images, "web:3 web:3 web:3");
  });

  for (const pause of ["annotation", "spec"]) {
    it(`waits while it is paused by its ${pause}; what joins has what the others have`, () => {
      const scene = new Scene("a", "b");
      if (pause === "spec") scene.edit({ paused: true });
      else scene.annotate({ "workloads.kcp.io/paused": "true" });
      scene.edit({ replicas: 5, template: { image: "web:2" } });
      scene.names = ["a", "b", "c"];
      scene.settle();
      assert.equal(scene.images, "web:1 web:1 web:1");
      assert.equal(scene.condition("Progressing").reason, "DeploymentPaused");
      scene.edit({ paused: false }, { annotations: {} });
      scene.settle();
      assert.equal(scene.images, "web:2 web:2 web:2");
    });
  }

  it("is undone when it is late, and tried again when it is another", () => {
    const scene = new Scene("a", "b", "c");
    scene.annotate({ "workloads.kcp.io/progress-deadline-seconds": "10" });
    scene.settle();
    scene.isBroken = (_name, image) => image === "web:2";
    scene.edit({ template: { image: "web:2" } });
    scene.settle();
    assert.equal(scene.images, "web:2 web:1 web:1");
    scene.nowMs += 11_000;
    scene.look();
    assert.equal(scene.images, "web:1 web:1 web:1");
    scene.settle();
    assert.equal(scene.images, "web:1 web:1 web:1");
    assert.equal(scene.condition("Progressing").reason, "ProgressDeadlineExceeded");
    assert.equal(scene.condition("Placed").reason, "RolledBack");
    scene.edit({ template: { image: "web:3" } });
    scene.settle();
    assert.equal(scene.images, "web:3 web:3 web:3");
  });

  it("is undone where it had succeeded, too", () => {
    const scene = new Scene("a", "b", "c");
    scene.annotate({ "workloads.kcp.io/progress-deadline-seconds": "10" });
    scene.isBroken = (name, image) => name === "web--b" && image === "web:2";
    scene.edit({ template: { image: "web:2" } });
    scene.settle();
    assert.equal(scene.images, "web:2 web:2 web:1");
    scene.nowMs += 11_000;
    scene.look();
    assert.equal(scene.images, "web:2 web:1 web:1", "who is unavailable goes first");
    scene.settle();
    assert.equal(scene.images, "web:1 web:1 web:1");
    assert.equal(scene.condition("Placed").reason, "RolledBack");
  });

  it("is all at once if its author wants it re-created", () => {
    const scene = new Scene("a", "b", "c");
    scene.edit({ strategy: { type: "Recreate" }, template: { image: "web:2" } });
    scene.look();
    assert.equal(scene.images, "web:2 web:2 web:2");
  });
});
