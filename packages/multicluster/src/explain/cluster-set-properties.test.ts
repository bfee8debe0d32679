/**
 * Goal: properties of the decisions about every workspace. Method: random workspace snapshots
 * (clusters with taints, limits, regions and failures; workloads with different requests;
 * policies), reconciled until they are stable.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Placement, SyncTarget } from "../api/index.ts";
import { messagesOf } from "../scheduling/index.ts";
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
} from "./test-support/sample-snapshot.ts";
import { decideEach, type SnapshotWorkload, type WorkspaceSnapshot } from "./workspace-snapshot.ts";

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
      const limits = {
        ...(pods === undefined ? {} : { pods }),
        ...(cpu === undefined ? {} : { cpu }),
      };
      const taints = taint === undefined ? [] : [{ key: "dedicated", effect: taint } as const];
      return target(name, {
        labels: where === undefined ? {} : { [region]: where },
        spec: { unschedulable, taints, resourceLimits: limits },
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

const clusterSets: fc.Arbitrary<WorkspaceSnapshot> = fc
  .tuple(targets, workloads, policies)
  .map(([all, requested, policy]) => {
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
    const made: SnapshotWorkload[] = requested.map(({ replicas, app, cpu, isTolerant }, index) =>
      deployment(`w${index}`, replicas, {
        labels: { app },
        ...(cpu === undefined ? {} : { cpu }),
        ...(isTolerant ? { tolerations: [{ operator: "Exists" }] } : {}),
      }),
    );
    return snapshot({ targets: all, placements: [placement], workloads: made });
  });

const runs = { numRuns: 200 };

/**
 * Several workloads that compete for capacity, or lead or keep each other by regions, come to rest
 * in one way or in another, whichever moves first: there is no one state that a plan could name.
 */
function hasOneRest({
  targets: all,
  placements,
  workloads: requested,
}: WorkspaceSnapshot): boolean {
  if (requested.length === 1) return true;
  const isLimited = all.some(({ spec }) => Object.keys(spec?.resourceLimits ?? {}).length > 0);
  const terms = placements.flatMap(({ spec }) => [
    ...(spec.affinity ?? []),
    ...(spec.antiAffinity ?? []),
  ]);
  return !isLimited && terms.length === 0;
}

describe("decisions about random workspaces", () => {
  it("decisions are the same for any order of clusters and workloads", () => {
    fc.assert(
      fc.property(clusterSets, (one) => {
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

  it("decisions become stable, and stay so", () => {
    fc.assert(
      fc.property(clusterSets, (one) => {
        const rest = reconciledUntilStable(one);
        for (let look = 0; look < 3; look++) assert.equal(reconciledOnce(rest).writes, 0);
      }),
      runs,
    );
  });

  it("a cluster that is filtered out gets no new replicas, and no cluster exceeds its capacity", () => {
    fc.assert(
      fc.property(clusterSets, clusterSets, (one, other) => {
        // The assignment by the first workspace's rules, under the rules of the second.
        const now = {
          ...reconciledUntilStable(one),
          targets: other.targets,
          placements: other.placements,
        };
        for (const [{ copies, strategy }, { clusters, plan }] of decideEach(now, evaluationTime)) {
          for (const { name, schedulingResult, share: member } of clusters) {
            const share = plan.goal.get(name) ?? 0;
            const has = member.copy?.replicas ?? 0;
            const isRefused =
              messagesOf(schedulingResult, "Reject").length +
                messagesOf(schedulingResult, "Evict").length >
              0;
            if (isRefused) assert.ok(share <= has, `${name} has ${has} and gets ${share}`);
            if (messagesOf(schedulingResult, "Evict").length > 0) assert.equal(share, 0);
            const maxReplicas = schedulingResult?.maxReplicas?.replicas ?? Number.POSITIVE_INFINITY;
            assert.ok(share <= maxReplicas, `${share} in room for ${maxReplicas}`);
          }
          assert.ok(copies.every((copy) => strategy.shareOf(copy).replicas >= 0));
        }
      }),
      runs,
    );
  });

  it("all requested replicas are scheduled as far as capacity suffices", () => {
    fc.assert(
      fc.property(clusterSets, (one) => {
        for (const [{ workload, strategy }, { clusters, plan }] of decideEach(
          one,
          evaluationTime,
        )) {
          const requested = strategy.desiredReplicas(workload);
          const given = [...plan.goal.values()].reduce((sum, share) => sum + share, 0);
          assert.equal(given + plan.unscheduled, requested);
          const open = clusters.filter(({ share }) => share.state === "Ready");
          const maxReplicas = open.reduce(
            (sum, { share: { maxReplicas: own = requested } }) => sum + own,
            0,
          );
          assert.equal(given, Math.min(requested, maxReplicas));
        }
      }),
      runs,
    );
  });

  it("the sum of the reservations is within the limits of every cluster", () => {
    fc.assert(
      fc.property(clusterSets, (one) => {
        const rest = assignmentOf(reconciledUntilStable(one));
        for (const { metadata, spec } of one.targets) {
          const pods = spec?.resourceLimits?.["pods"];
          if (pods === undefined) continue;
          let sum = 0;
          for (const shares of rest.values()) sum += shares[metadata.name] ?? 0;
          assert.ok(sum <= Number(pods), `${sum} of ${pods} pods in ${metadata.name}`);
        }
      }),
      runs,
    );
  });

  it("a new cluster moves no more replicas than it gets", () => {
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

  it("a plan is the state at rest after the change, and changes nothing", () => {
    fc.assert(
      fc.property(clusterSets, (one) => {
        fc.pre(hasOneRest(one));
        const rest = reconciledUntilStable(one);
        const text = JSON.stringify(rest);
        const name = rest.targets[0]?.metadata.name ?? "";
        const plan = planChange(rest, withDrainedTarget(name), evaluationTime);
        assert.equal(JSON.stringify(rest), text);
        const [before, after] = [
          assignmentOf(rest),
          assignmentOf(reconciledUntilStable(withDrainedTarget(name)(rest))),
        ];
        for (const [workload, shares] of after) {
          const move = plan.moves.find((move) => move.name === workload);
          assert.deepEqual(move?.to ?? before.get(workload), shares);
        }
      }),
      runs,
    );
  });
});
