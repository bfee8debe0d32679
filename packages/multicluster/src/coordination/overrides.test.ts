import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findCondition } from "@kcp-ts/sdk";
import { newClusterCopy } from "./cluster-copy.ts";
import type { DecideInput } from "./decide.ts";
import type { Deployment, DeploymentStatus } from "./deployment.ts";
import { deploymentStrategy as strategy } from "./deployment-strategy.ts";
import { decideWithOverrides, overridesAnnotation } from "./overrides.ts";

const nowMs = Date.UTC(2026, 0, 1);
const target = (name: string, labels: Record<string, string>) => ({
  name,
  labels,
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  isDeleting: false,
  taints: [],
});
const targets = [
  target("east", { region: "us" }),
  target("west", { region: "us" }),
  target("paris", { region: "eu" }),
] as unknown as DecideInput["targets"];

const workload = (overrides?: unknown): Deployment => ({
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
    copies: [],
    takenNames: new Set(),
    targets,
    gracePeriods: { unreachableAfterMs: 60_000, recoveryMs: 0 },
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
  findCondition((status as DeploymentStatus).conditions, "Scheduled");

describe("overrides by cluster", () => {
  it("overrides change the copies of the clusters that they select, in their order", () => {
    const overrides = [
      { clusterSelector: {}, patches: [image("mirror/app:1")] },
      { clusterSelector: inEurope, patches: [image("eu/app:1")] },
    ];
    assert.deepEqual(imagesOf(decided(workload(overrides))), {
      "web--east": "mirror/app:1",
      "web--paris": "eu/app:1",
      "web--west": "mirror/app:1",
    });
  });

  it("overrides of a Placement apply when the workload has none", () => {
    const overrides = [{ clusterSelector: inEurope, patches: [image("eu/app:1")] }] as never;
    const scheduling = { policy: { sources: [], overrides } };
    assert.equal(imagesOf(decided(workload(), { scheduling }))["web--paris"], "eu/app:1");
    const own = [{ clusterSelector: inEurope, patches: [image("own/app:1")] }];
    assert.equal(imagesOf(decided(workload(own), { scheduling }))["web--paris"], "own/app:1");
  });

  it("overrides that do not apply are reported, and nothing is created, changed or moved", () => {
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
      ["[{]", /annotation workload.kcp.io\/overrides/],
      [{ patches: [] }, /is a list of/],
    ];
    for (const [overrides, message] of cases) {
      const parent = workload(overrides);
      const request = {
        strategy,
        parent,
        cluster: "east",
        share: { replicas: 6 },
        desiredReplicas: 6,
      };
      const { metadata, spec } = newClusterCopy(request);
      const copy = {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { ...metadata, name: "web--east", generation: 1 },
        spec,
        status: { observedGeneration: 1, availableReplicas: 6 },
      };
      for (const decision of [decided(parent), decided(parent, { copies: [copy] })]) {
        const { creations, updates, scaleDowns, removals } = decision;
        assert.deepEqual([creations, updates, scaleDowns, removals], [[], [], [], []]);
        assert.equal(placedOf(decision)?.status, "False");
        assert.match(placedOf(decision)?.message ?? "", message);
      }
    }
  });

  it("the result of an override is the desired spec, and not an edit to revert", () => {
    const overrides = [{ clusterSelector: inEurope, patches: [image("eu/app:1")] }];
    const parent = workload(overrides);
    const copies = decided(parent).creations.map(({ metadata, spec }) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { ...metadata, name: metadata.name ?? "", generation: 1 },
      spec,
      status: { observedGeneration: 1, availableReplicas: 2, replicas: 2 },
    }));
    const again = decided(parent, { copies });
    assert.deepEqual([again.creations, again.updates, again.scaleDowns], [[], [], []]);
    assert.equal((again.status as DeploymentStatus).observedGeneration, 1);
  });
});
