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

  describe("of a large workload for many clusters", () => {
    const many = Array.from({ length: 50 }, (_, at) => ({
      ...(targets[0] as (typeof targets)[number]),
      name: `c${at}`,
      labels: { region: "eu", number: String(at) },
    }));
    const env = Array.from({ length: 6000 }, (_, at) => ({ name: `E${at}`, value: "x" }));
    const large = (overrides: unknown): Deployment => ({
      ...workload(overrides),
      spec: {
        replicas: 120,
        template: { spec: { containers: [{ name: "main", image: "app:1", env }] } },
      },
    });

    it("are applied once for all clusters that the same overrides select, whose copies share the result", () => {
      const { creations } = decided(
        large([{ clusterSelector: inEurope, patches: [image("eu/app:1")] }]),
        { targets: many },
      );
      assert.equal(creations.length, 50);
      const templates = new Set(creations.map(({ spec }) => spec?.["template"]));
      assert.equal(templates.size, 1);
      assert.ok(new Set(creations.map(({ spec }) => spec?.["replicas"])).size > 1);
    });

    it("are refused when they copy too much, and the condition says so", () => {
      const each = many.map(({ labels }) => ({
        clusterSelector: { matchLabels: labels },
        patches: [image(`app:${labels["number"]}`)],
      }));
      const decision = decided(large(each), { targets: many });
      assert.deepEqual(decision.creations, []);
      assert.match(placedOf(decision)?.message ?? "", /overrides of a workload: limit is 100000/);
    });

    it("are refused when their patches compare too much in sum", () => {
      const test = { op: "test", path: "/spec/template/spec/containers/0/env", value: env };
      const moves = Array.from({ length: 10 }, () => ({
        op: "move",
        from: "/spec/template/spec/containers/0/env/0",
        path: "/spec/template/spec/containers/0/env/0",
      }));
      const few = [{ clusterSelector: inEurope, patches: moves.slice(0, 2) }];
      assert.equal(decided(large(few), { targets: many }).creations.length, 50);
      const patches = [...moves, test].slice(0, 10);
      const decision = decided(large([{ clusterSelector: inEurope, patches }]), { targets: many });
      assert.deepEqual(decision.creations, []);
      assert.match(placedOf(decision)?.message ?? "", /shifts or compares more than 100000 items/);
    });
  });
});
