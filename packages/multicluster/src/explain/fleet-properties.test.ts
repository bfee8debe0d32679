/**
 * Goal: what holds for every fleet. Method: fleets drawn at random (clusters with taints, bounds, regions and failures; workloads that ask for more or less;
 * policies), looked at until they are at rest.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Placement, SyncTarget } from "../api/index.ts";
import { decideEach, type SnapshotWorkload, type WorkspaceSnapshot } from "./fleet.ts";
import { planChange, withDrainedTarget } from "./plan-change.ts";
import {
  assignmentOf,
  deployment,
  evaluationTime,
  movedReplicas,
  reconciledOnce,
  reconciledUntilStable,
  snapshot,
  target,
} from "./test-support/pretend-fleet.ts";

const region = "topology.kubernetes.io/region";
const names = ["a", "b", "c", "d", "e", "f"] as const;

const targets = fc
  .uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 6 })
  .chain((chosen) => fc.tuple(...chosen.map((name) => targetNamed(name))));

function targetNamed(name: string): fc.Arbitrary<SyncTarget> {
  return fc
    .record({
      region: fc.constantFrom("us", "eu", undefined),
      unschedulable: fc.boolean().map((yes) => yes && name > "d"),
      taint: fc.constantFrom(undefined, "NoSchedule", "NoExecute", "PreferNoSchedule"),
      pods: fc.option(fc.nat(30), { nil: undefined }),
      cpu: fc.option(fc.nat(20), { nil: undefined }),
    })
    .map(({ region: where, unschedulable, taint, pods, cpu }) => {
      const bounds = {
        ...(pods === undefined ? {} : { pods }),
        ...(cpu === undefined ? {} : { cpu }),
      };
      const taints = taint === undefined ? [] : [{ key: "dedicated", effect: taint } as const];
      return target(name, {
        labels: where === undefined ? {} : { [region]: where },
        spec: { unschedulable, taints, bounds },
      });
    });
}

const workloads = fc.array(
  fc.record({
    replicas: fc.nat(12),
    app: fc.constantFrom("web", "db"),
    cpu: fc.constantFrom(undefined, "500m", "2"),
    isTolerant: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

const policies = fc.record({
  spread: fc.boolean(),
  antiAffinity: fc.constantFrom("none", "preferred", "required"),
  affinity: fc.constantFrom("none", "preferred", "required"),
});

const fleets: fc.Arbitrary<WorkspaceSnapshot> = fc
  .tuple(targets, workloads, policies)
  .map(([all, asked, policy]) => {
    const term = (kind: string, app: string) =>
      kind === "none"
        ? []
        : [
            {
              workloadSelector: { matchLabels: { app } },
              topologyKey: region,
              required: kind === "required",
            },
          ];
    const placement: Placement = {
      apiVersion: "scheduling.kcp.io/v1alpha1",
      kind: "Placement",
      metadata: { name: "all" },
      spec: {
        locationResource: { version: "v1alpha1", resource: "synctargets" },
        namespaceSelector: {},
        ...(policy.spread ? { spread: [{ topologyKey: region }] } : {}),
        antiAffinity: term(policy.antiAffinity, "db"),
        affinity: term(policy.affinity, "web"),
      },
    };
    const made: SnapshotWorkload[] = asked.map(({ replicas, app, cpu, isTolerant }, index) =>
      deployment(`w${index}`, replicas, {
        labels: { app },
        ...(cpu === undefined ? {} : { cpu }),
        ...(isTolerant ? { tolerations: [{ operator: "Exists" }] } : {}),
      }),
    );
    return snapshot({ targets: all, placements: [placement], workloads: made });
  });

const runs = { numRuns: 200 };

describe("what is decided about any fleet", () => {
  it("is the same again, in whatever order clusters and workloads are given", () => {
    fc.assert(
      fc.property(fleets, (one) => {
        const other = {
          ...one,
          targets: [...one.targets].reverse(),
          workloads: [...one.workloads].reverse(),
        };
        const [first, second] = [
          assignmentOf(reconciledUntilStable(one)),
          assignmentOf(reconciledUntilStable(other)),
        ];
        for (const [name, shares] of first) assert.deepEqual(second.get(name), shares);
      }),
      runs,
    );
  });

  it("comes to rest, and stays there", () => {
    fc.assert(
      fc.property(fleets, (one) => {
        const rest = reconciledUntilStable(one);
        for (let look = 0; look < 3; look++) assert.equal(reconciledOnce(rest).writes, 0);
      }),
      runs,
    );
  });

  it("gives nothing new to a cluster that refuses it, and nothing beyond its room", () => {
    fc.assert(
      fc.property(fleets, fleets, (one, other) => {
        // What is where by the first fleet's rules, when those of the second begin to hold.
        const now = {
          ...reconciledUntilStable(one),
          targets: other.targets,
          placements: other.placements,
        };
        for (const [{ parts, strategy }, { places, plan }] of decideEach(now, evaluationTime)) {
          for (const { name, prospect, member } of places) {
            const share = plan.goal.get(name) ?? 0;
            const has = member.part?.replicas ?? 0;
            const isRefused =
              (prospect?.refused.length ?? 0) + (prospect?.expelled.length ?? 0) > 0;
            if (isRefused) assert.ok(share <= has, `${name} has ${has} and gets ${share}`);
            if ((prospect?.expelled.length ?? 0) > 0) assert.equal(share, 0);
            const room = prospect?.room?.replicas ?? Number.POSITIVE_INFINITY;
            assert.ok(share <= room, `${share} in room for ${room}`);
          }
          assert.ok(parts.every((part) => strategy.shareOf(part).replicas >= 0));
        }
      }),
      runs,
    );
  });

  it("gives out all that is asked for as far as there is room", () => {
    fc.assert(
      fc.property(fleets, (one) => {
        for (const [{ whole, strategy }, { places, plan }] of decideEach(one, evaluationTime)) {
          const asked = strategy.asked(whole);
          const given = [...plan.goal.values()].reduce((sum, share) => sum + share, 0);
          assert.equal(given + plan.unplaced, asked);
          const open = places.filter(({ member }) => member.standing === "accepting");
          const room = open.reduce((sum, { member: { room: own = asked } }) => sum + own, 0);
          assert.equal(given, Math.min(asked, room));
        }
      }),
      runs,
    );
  });

  it("keeps the sum of what is reserved within the bounds of every cluster", () => {
    fc.assert(
      fc.property(fleets, (one) => {
        const rest = assignmentOf(reconciledUntilStable(one));
        for (const { metadata, spec } of one.targets) {
          const pods = spec?.bounds?.["pods"];
          if (pods === undefined) continue;
          let sum = 0;
          for (const shares of rest.values()) sum += shares[metadata.name] ?? 0;
          assert.ok(sum <= Number(pods), `${sum} of ${pods} pods in ${metadata.name}`);
        }
      }),
      runs,
    );
  });

  it("moves no more than the newcomer's share when a cluster joins", () => {
    fc.assert(
      fc.property(fc.nat(40), fc.integer({ min: 1, max: 6 }), (replicas, count) => {
        const few = names.slice(0, count).map((name) => target(name));
        const before = reconciledUntilStable(
          snapshot({ targets: few, workloads: [deployment("web", replicas)] }),
        );
        const after = reconciledUntilStable({ ...before, targets: [...few, target("newcomer")] });
        const share = assignmentOf(after).get("web")?.["newcomer"] ?? 0;
        assert.equal(movedReplicas(assignmentOf(before), assignmentOf(after)), share);
        assert.ok(share <= Math.ceil(replicas / (count + 1)));
      }),
      runs,
    );
  });

  it("is what a plan says before, and a plan changes nothing", () => {
    fc.assert(
      fc.property(fleets, (one) => {
        const rest = reconciledUntilStable(one);
        const text = JSON.stringify(rest);
        const name = rest.targets[0]?.metadata.name ?? "";
        const plan = planChange(rest, withDrainedTarget(name), evaluationTime);
        assert.equal(JSON.stringify(rest), text);
        const first = decideEach(withDrainedTarget(name)(rest), evaluationTime);
        for (const [{ whole }, { plan: done }] of first) {
          const move = plan.moves.find((move) => move.name === whole.metadata.name);
          if (move === undefined) continue;
          const goal = [...done.goal].filter(([, share]) => share > 0).sort();
          assert.deepEqual(move.to, Object.fromEntries(goal));
          assert.equal(move.to[name], undefined);
        }
      }),
      runs,
    );
  });
});
