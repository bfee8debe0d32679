import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findCondition } from "@kcp-ts/sdk";
import type { DecideInput } from "./decide.ts";
import type { Deployment, DeploymentStatus } from "./deployment.ts";
import { deploymentStrategy as strategy } from "./deployment-strategy.ts";
import { decideWithOverrides, overridesAnnotation } from "./overrides.ts";
import { newClusterCopy } from "./part.ts";

const nowMs = Date.UTC(2026, 0, 1);
const target = (name: string, labels: Record<string, string>) => ({
  name,
  labels,
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  evictAfterMs: undefined,
  isDeleting: false,
  taints: [],
});
const targets = [
  target("east", { region: "us" }),
  target("west", { region: "us" }),
  target("paris", { region: "eu" }),
] as unknown as DecideInput["targets"];

const whole = (overrides?: unknown): Deployment => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "web",
    namespace: "demo",
    uid: "whole",
    generation: 1,
    ...(overrides === undefined
      ? {}
      : {
          annotations: {
            [overridesAnnotation]:
              typeof overrides === "string" ? overrides : JSON.stringify(overrides),
          },
        }),
  },
  spec: { replicas: 6, template: { spec: { containers: [{ name: "main", image: "app:1" }] } } },
});

const image = (value: string) => ({
  op: "replace",
  path: "/spec/template/spec/containers/0/image",
  value,
});
const inEurope = { matchLabels: { region: "eu" } };

const decided = (parent: Deployment, more: Partial<DecideInput> = {}) =>
  decideWithOverrides({
    strategy,
    parent,
    parts: [],
    takenNames: new Set(),
    targets,
    patience: { graceMs: 60_000, settleMs: 0 },
    nowMs,
    ...more,
  });

const imagesOf = ({ creations }: ReturnType<typeof decided>) =>
  Object.fromEntries(
    creations.map(({ metadata, spec }) => [
      metadata.name,
      /"image":"([^"]*)"/.exec(JSON.stringify(spec))?.[1],
    ]),
  );

const placedOf = ({ status }: ReturnType<typeof decided>) =>
  findCondition((status as DeploymentStatus).conditions, "Placed");

describe("overrides by cluster", () => {
  it("change the parts of the clusters that they select, in their order", () => {
    const overrides = [
      { clusterSelector: {}, patches: [image("mirror/app:1")] },
      { clusterSelector: inEurope, patches: [image("eu/app:1")] },
    ];
    assert.deepEqual(imagesOf(decided(whole(overrides))), {
      "web--east": "mirror/app:1",
      "web--paris": "eu/app:1",
      "web--west": "mirror/app:1",
    });
  });

  it("of a Placement count where the author says nothing", () => {
    const overrides = [{ clusterSelector: inEurope, patches: [image("eu/app:1")] }] as never;
    const surroundings = { policy: { sources: [], overrides } };
    assert.equal(imagesOf(decided(whole(), { surroundings }))["web--paris"], "eu/app:1");
    const own = [{ clusterSelector: inEurope, patches: [image("own/app:1")] }];
    assert.equal(imagesOf(decided(whole(own), { surroundings }))["web--paris"], "own/app:1");
  });

  it("that do not apply are said, and nothing is made, changed or moved", () => {
    const wrong = (op: object, selector: object = inEurope) => [
      { clusterSelector: selector, patches: [op] },
    ];
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [
        wrong({ op: "replace", path: "/spec/nothing/there", value: 1 }),
        /overrides for paris: .*path/,
      ],
      [wrong({ op: "replace", path: "/spec/replicas", value: 9 }), /overrides for paris: .*share/],
      [wrong({ op: "add", path: "/metadata/labels", value: {} }), /\/metadata\/labels is not in/],
      [wrong(image("x"), { matchExpressions: [{ key: "a", operator: "Near" }] }), /overrides for/],
      ["[{]", /annotation workloads.kcp.io\/overrides/],
      [{ patches: [] }, /is a list of/],
    ];
    for (const [overrides, message] of cases) {
      const parent = whole(overrides);
      const wish = { strategy, parent, cluster: "east", share: { replicas: 6 }, askedReplicas: 6 };
      const { metadata, spec } = newClusterCopy(wish);
      const part = {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { ...metadata, name: "web--east", generation: 1 },
        spec,
        status: { observedGeneration: 1, availableReplicas: 6 },
      };
      for (const decision of [decided(parent), decided(parent, { parts: [part] })]) {
        const { creations, updates, cuts, removals } = decision;
        assert.deepEqual([creations, updates, cuts, removals], [[], [], [], []]);
        assert.equal(placedOf(decision)?.status, "False");
        assert.match(placedOf(decision)?.message ?? "", message);
      }
    }
  });

  it("are no edit: what they make of a part is what it should be", () => {
    const overrides = [{ clusterSelector: inEurope, patches: [image("eu/app:1")] }];
    const parent = whole(overrides);
    const parts = decided(parent).creations.map(({ metadata, spec }) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { ...metadata, name: metadata.name ?? "", generation: 1 },
      spec,
      status: { observedGeneration: 1, availableReplicas: 2, replicas: 2 },
    }));
    const again = decided(parent, { parts });
    assert.deepEqual([again.creations, again.updates, again.cuts], [[], [], []]);
    assert.equal((again.status as DeploymentStatus).observedGeneration, 1);
  });
});
