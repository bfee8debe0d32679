import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import fc from "fast-check";
import { clusterLabel, ownedByLabel } from "../api/index.ts";
import type { Deployment } from "./deployment.ts";
import { weightsAnnotation } from "./placement.ts";
import {
  deploymentRevisions,
  historyLimitDefault,
  numberOf,
  planRevisions,
  type Revision,
  type RevisionPlan,
  revisionAnnotation,
} from "./revisions.ts";

const change = "kubernetes.io/change-cause";

function workload(
  image: string,
  {
    spec = {},
    annotations = {},
  }: { readonly spec?: JsonObject; readonly annotations?: Record<string, string> } = {},
): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "demo", uid: "whole", annotations },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "web", image }] },
      },
      ...spec,
    },
  };
}

/** The ReplicaSets of a namespace, changed by revision plans. */
class Sets {
  all: Revision[] = [];

  look(parent: Deployment): RevisionPlan | undefined {
    const plan = planRevisions(parent, this.all, deploymentRevisions);
    const { creation, update, removals = [] } = plan ?? {};
    if (update !== undefined)
      this.all = this.all.map((one) => (one.metadata.name === update.metadata.name ? update : one));
    if (creation !== undefined) {
      const { metadata, spec } = creation;
      const name = metadata.name ?? "";
      assert.ok(this.all.every((one) => one.metadata.name !== name));
      const made = {
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        metadata: { ...metadata, name },
        spec,
      };
      this.all.push(made as Revision);
    }
    this.all = this.all.filter((one) => !removals.includes(one));
    return plan;
  }

  get numbers(): readonly number[] {
    return this.all.map(numberOf).sort((a, b) => a - b);
  }
}

describe("revision history of a workload", () => {
  it("each template has one revision, and nothing is written when nothing changes", () => {
    const sets = new Sets();
    assert.equal(sets.look(workload("web:1"))?.number, 1);
    assert.equal(sets.look(workload("web:2"))?.number, 2);
    const again = sets.look(workload("web:2", { spec: { replicas: 9 } }));
    assert.deepEqual(again, { removals: [], number: 2 });
    assert.deepEqual(sets.numbers, [1, 2]);
  });

  it("a revision has the fields that kubectl restores: the template, and the workload's own annotations", () => {
    const annotations = {
      [change]: "first",
      [weightsAnnotation]: "us-east1=3",
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
    };
    const made = planRevisions(
      workload("web:1", { annotations }),
      [],
      deploymentRevisions,
    )?.creation;
    const labels = made?.metadata.labels ?? {};
    const hash = labels["pod-template-hash"] ?? "";
    assert.match(hash, /^[0-9a-f]{10}$/);
    assert.deepEqual(labels, { app: "web", "pod-template-hash": hash, [ownedByLabel]: "web" });
    assert.deepEqual(made?.metadata.annotations, {
      [change]: "first",
      [weightsAnnotation]: "us-east1=3",
      [revisionAnnotation]: "1",
    });
    assert.deepEqual(made?.spec, {
      replicas: 0,
      selector: { matchLabels: { app: "web", "pod-template-hash": hash } },
      template: {
        metadata: { labels: { app: "web", "pod-template-hash": hash } },
        spec: { containers: [{ name: "web", image: "web:1" }] },
      },
    });
    assert.equal(made?.metadata.ownerReferences?.[0]?.uid, "whole");
  });

  it("a revision is never assigned to a cluster, whatever labels the Pods have", () => {
    const template = { metadata: { labels: { app: "web", [clusterLabel]: "us-east1" } }, spec: {} };
    const made = planRevisions(
      workload("web:1", { spec: { template } }),
      [],
      deploymentRevisions,
    )?.creation;
    assert.equal(made?.metadata.labels?.[clusterLabel], undefined);
  });

  it("a rollback makes the old revision the newest, and records its former number", () => {
    const sets = new Sets();
    for (const image of ["web:1", "web:2", "web:1"]) sets.look(workload(image));
    assert.deepEqual(sets.numbers, [2, 3]);
    const newest = sets.all.find((one) => numberOf(one) === 3);
    const { annotations } = newest?.metadata ?? {};
    assert.equal(annotations?.["deployment.kubernetes.io/revision-history"], "1");
  });

  it("a template that returns with additional empty fields is the same revision", () => {
    const sets = new Sets();
    sets.look(workload("web:1"));
    const template = {
      spec: { containers: [{ image: "web:1", name: "web", resources: {}, env: [] }] },
      metadata: { creationTimestamp: null, labels: { app: "web" } },
    };
    assert.equal(sets.look(workload("", { spec: { template } }))?.creation, undefined);
  });

  it("false and zero differ from a missing field", () => {
    const sets = new Sets();
    const containers = [{ name: "web", image: "web:1" }];
    for (const more of [{}, { enableServiceLinks: false }, { terminationGracePeriodSeconds: 0 }]) {
      const template = { metadata: {}, spec: { containers, ...more } };
      sets.look(workload("", { spec: { template } }));
    }
    assert.deepEqual(sets.numbers, [1, 2, 3]);
  });

  it("only the newest revision follows the annotations of the workload", () => {
    const sets = new Sets();
    sets.look(workload("web:1", { annotations: { [change]: "first" } }));
    sets.look(workload("web:2"));
    sets.look(workload("web:2", { annotations: { [change]: "second" } }));
    assert.deepEqual(
      sets.all.map(({ metadata }) => metadata.annotations?.[change]),
      ["first", "second"],
    );
  });

  it("the history limit applies to old revisions: ten by default, none at zero", () => {
    const sets = new Sets();
    for (let at = 1; at <= historyLimitDefault + 1; at++) sets.look(workload(`web:${at}`));
    assert.equal(sets.all.length, historyLimitDefault + 1);
    sets.look(workload("web:one more"));
    assert.equal(sets.all.length, historyLimitDefault + 1);
    assert.equal(sets.numbers[0], 2);
    sets.look(workload("web:one more", { spec: { revisionHistoryLimit: 0 } }));
    assert.deepEqual(sets.numbers, [12]);
    sets.look(workload("web:next", { spec: { revisionHistoryLimit: 0 } }));
    assert.deepEqual(sets.numbers, [13]);
  });

  it("revisions that another controller owns stay unchanged, even with the same label", () => {
    const sets = new Sets();
    sets.look(workload("web:1"));
    const [own] = sets.all as [Revision];
    const ownerReferences = [{ ...own.metadata.ownerReferences?.[0], uid: "somebody else" }];
    const foreign = {
      ...own,
      metadata: { ...own.metadata, name: "x", ownerReferences },
    } as Revision;
    const plan = planRevisions(
      workload("web:2", { spec: { revisionHistoryLimit: 0 } }),
      [own, foreign],
      deploymentRevisions,
    );
    assert.deepEqual(plan?.removals, [own]);
  });

  it("no revision is recorded while the workload is paused, or without a template", () => {
    assert.equal(
      planRevisions(workload("web:1", { spec: { paused: true } }), [], deploymentRevisions),
      undefined,
    );
    assert.equal(
      planRevisions(workload("web:1", { spec: { template: "none" } }), [], deploymentRevisions),
      undefined,
    );
    const sets = new Sets();
    sets.look(workload("web:1"));
    assert.equal(sets.look(workload("web:1", { spec: { paused: true } }))?.number, 1);
  });

  it("the second reconcile writes nothing, and revision numbers are unique and rising, for generated edits", () => {
    const edits = fc.record({
      image: fc.integer({ min: 1, max: 4 }),
      limit: fc.integer({ min: 0, max: 3 }),
      cause: fc.constantFrom("", "a", "b"),
    });
    fc.assert(
      fc.property(fc.array(edits, { maxLength: 30 }), (steps) => {
        const sets = new Sets();
        let highest = 0;
        for (const { image, limit, cause } of steps) {
          const annotations: Record<string, string> = cause === "" ? {} : { [change]: cause };
          const spec = { revisionHistoryLimit: limit };
          const parent = workload(`web:${image}`, { spec, annotations });
          const { number = 0 } = sets.look(parent) ?? {};
          assert.ok(number >= highest);
          highest = number;
          assert.equal(sets.numbers.at(-1), number);
          assert.equal(new Set(sets.numbers).size, sets.numbers.length);
          assert.ok(sets.all.length <= limit + 1);
          assert.deepEqual(sets.look(parent), { removals: [], number });
        }
      }),
    );
  });
});
