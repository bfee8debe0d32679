/**
 * Goal: a workload with a required affinity follows its target, and no workloads move in circles.
 * Method: cases, and seeded groups of workloads that decide in any order until none moves.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import type { WorkloadAffinity } from "../api/index.ts";
import { type AffinitySubject, affinityTargetsOf } from "./affinity-targets.ts";
import type { ClusterCandidate } from "./candidate.ts";
import { filterAndScore } from "./filter-and-score.ts";
import { type Policy, policyOf } from "./policy.ts";
import { hasEffect } from "./rules.ts";
import { schedulableWorkloadOf } from "./workload.ts";

const resource = "deployments.apps";
const to = (...apps: string[]): WorkloadAffinity[] =>
  apps.map((app) => ({ workloadSelector: { matchLabels: { app } }, required: true }));

function social(
  name: string,
  near: readonly string[],
  apart: readonly string[] = [],
): AffinitySubject {
  const policy: Policy = { ...policyOf([]), affinity: to(...near), antiAffinity: to(...apart) };
  return { name, resource, labels: { app: name }, policy };
}

/** The affinity targets that each workload follows. */
function leading(...all: readonly AffinitySubject[]): Record<string, string> {
  return Object.fromEntries(
    all.map((self) => {
      const others = all.filter((one) => one !== self);
      const leads = affinityTargetsOf(self, others);
      const led = others.filter((one) => nearOf(self).includes(one.name) && leads(one));
      return [self.name, led.map(({ name }) => name).join()];
    }),
  );
}

function nearOf({ policy: { affinity = [] } }: AffinitySubject): readonly string[] {
  return affinity.map(({ workloadSelector }) => workloadSelector.matchLabels?.["app"] ?? "");
}

describe("affinity targets of workloads", () => {
  it("a workload follows a target that does not depend on it", () => {
    const found = leading(social("web", ["cache"]), social("cache", ["db"]), social("db", []));
    assert.deepEqual(found, { web: "cache", cache: "db", db: "" });
  });

  it("of workloads that depend on each other, directly or indirectly, the first by name is followed", () => {
    assert.deepEqual(leading(social("b", ["a"]), social("a", ["b"])), { a: "", b: "a" });
    const ring = leading(social("a", ["b"]), social("b", ["c"]), social("c", ["a"]));
    assert.deepEqual(ring, { a: "", b: "", c: "a" });
  });

  it("a workload follows no target that has an anti-affinity to it, or to one that follows it", () => {
    const found = leading(social("a", ["b"]), social("b", [], ["a"]));
    assert.deepEqual(found, { a: "", b: "" });
    const more = leading(social("a", [], ["c"]), social("b", ["a"]), social("c", ["b"]));
    assert.deepEqual(more, { a: "", b: "", c: "" });
  });
});

const names = ["a", "b", "c", "d", "e"] as const;
const clusters = ["east", "north", "west"] as const;
const candidates: readonly ClusterCandidate[] = clusters.map((name) => ({ name, labels: {} }));

/** Workloads of one replica each, which move to permitted clusters. */
class Group {
  readonly random: SeededRandom;
  readonly members: readonly AffinitySubject[];
  readonly places = new Map<string, string>();

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    const some = (self: string) =>
      names.filter((one) => one !== self && this.random.chance(seed % 2 === 0 ? 0.2 : 0.35));
    this.members = names.map((name) =>
      social(name, some(name), this.random.chance(0.3) ? some(name) : []),
    );
    for (const { name } of this.members) this.push(name);
  }

  /** An external move: a drain, a failure, an edit. */
  push(name: string): void {
    this.places.set(name, this.random.pick(clusters));
  }

  /** Decides about one workload; returns whether it moved. */
  decide(self: AffinitySubject): boolean {
    const others = this.members.filter((one) => one !== self);
    const leads = affinityTargetsOf(self, others);
    const rank = ({ name, policy }: AffinitySubject) =>
      `${policy.antiAffinity?.length !== 0} ${name}`;
    const existingWorkloads = others.map((one) => ({
      ...one,
      clusters: [this.places.get(one.name) ?? ""],
      hasPrecedence: rank(one) < rank(self),
      isAffinityTarget: leads(one),
    }));
    const here = this.places.get(self.name) ?? "";
    const currentReplicas = (name: string) => ({ replicas: name === here ? 1 : 0, available: 1 });
    const metadata = { namespace: "demo", name: self.name, labels: self.labels };
    const workload = schedulableWorkloadOf({ metadata, spec: {} as never }, { resource });
    const { policy } = self;
    const { clusters: results } = filterAndScore({
      workload,
      candidates,
      policy,
      existingWorkloads,
      currentReplicas,
    });
    if (!hasEffect(results.get(here), "Evict")) return false;
    const [first, ...more] = clusters.filter((name) => {
      const result = results.get(name);
      return !hasEffect(result, "Evict") && !hasEffect(result, "Reject");
    });
    if (first === undefined) return false;
    this.places.set(self.name, this.random.pick([first, ...more]));
    return true;
  }

  memberAt(index: number): AffinitySubject {
    return this.members[index] ?? assert.fail();
  }

  /**
   * The workloads that violate a required affinity to one that has neither affinity nor
   * anti-affinity.
   */
  astray(): readonly string[] {
    const isFree = ({ policy: { affinity = [], antiAffinity = [] } }: AffinitySubject) =>
      affinity.length + antiAffinity.length === 0;
    return this.members.flatMap((one) => {
      const [near, ...more] = nearOf(one);
      const leader = this.members.find(({ name }) => name === near);
      const isLed = leader !== undefined && isFree(leader) && more.length === 0;
      if (!isLed || one.policy.antiAffinity?.length !== 0) return [];
      return this.places.get(leader.name) === this.places.get(one.name) ? [] : [one.name];
    });
  }
}

describe("workloads with affinity and anti-affinity", () => {
  it("seeded groups become stable, whichever workload is moved and whichever decides first", () => {
    for (let seed = 0; seed < 300; seed++) {
      const group = new Group(seed);
      const told = () => JSON.stringify([group.members, [...group.places]]);
      for (let push = 0; push < 3; push++) {
        let moves = 0;
        for (let idle = 0; idle < 100; idle++) {
          if (!group.decide(group.memberAt(group.random.integer(names.length)))) continue;
          idle = 0;
          assert.ok(++moves < 200, `seed ${seed}: they do not come to rest: ${told()}`);
        }
        assert.deepEqual(group.astray(), [], `seed ${seed}: ${told()}`);
        group.push(group.random.pick(names));
      }
    }
  });
});
