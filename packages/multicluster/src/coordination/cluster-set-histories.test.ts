/**
 * Seeded histories of 2 to 12 clusters that tenants share, with workloads of every kind:
 * StatefulSets with ordinals and PersistentVolumeClaims, Jobs, DaemonSets, ClusterDaemonSets,
 * CronJobs, bare Pods and custom kinds besides Deployments. Clusters register, become Unreachable,
 * flap, break, are cordoned, drained at once or on a budget, evicted and deleted; authors scale,
 * edit, select, weigh, pause and block disruption; capacity changes; drains are cancelled; and the
 * coordinator reads stale state and is stopped between any two writes.
 *
 * Each history runs three times: without limits; with Locations that limit the tenants' use of
 * their clusters and change their limits; and with users who scale and delete copies.
 *
 * The invariants are in `test-support/cluster-set/invariants.ts`, for each kind;
 * `cluster-set-invariants.test.ts` shows what they detect. When nothing happens any more,
 * everything is stable in permitted clusters, a drained cluster is empty if a feasible one exists,
 * and nothing more is written.
 *
 * KCP_HISTORIES=10000 runs more histories, from seed KCP_SEED on. A failure prints its seed and its
 * history.
 */
import { describe, it } from "node:test";
import { runHistory } from "./test-support/cluster-set/run-history.ts";

const histories = Number(process.env["KCP_HISTORIES"] ?? 40);
const firstSeed = Number(process.env["KCP_SEED"] ?? 0);

/** Seeds of histories that found a bug, with the bug. */
const telling: readonly (readonly [seed: number, found: string])[] = [
  [13, "a StatefulSet in a cluster without capacity for it"],
  [24, "a DaemonSet that left a cluster before it was available in another"],
  [1781, "a Pod that returned to a cluster whose copy was being removed"],
  [2010, "an ordinal that left while another was unavailable, after a scale-down"],
  [3120, "a claim that was requested in an Unregistered cluster"],
  [3785, "two clusters updated at once in a cluster-by-cluster rollout"],
  [5275, "an ordinal that left by a report from before its cluster was disconnected"],
  [5420, "a StatefulSet without a feasible cluster, and a drain on a budget"],
  [5629, "template updates during a scale-down of a copy whose Pods were being replaced"],
  [
    7692,
    "a Pod of an Unreachable cluster replaced before fencing, because of a copy that was being removed",
  ],
  [7887, "a rollback during a scale-down of a rolling copy, in a Draining cluster"],
  [7961, "a scale-down of a rolling copy by one, and a template update of one"],
  [9238, "a Pod that missed its deadline in two clusters, and alternated between them forever"],
  [17503, "a replica that started while a copy that was being removed could start, too"],
];

/** Seeds of histories with limits that found a bug, with the bug. */
const tellingBounded: readonly (readonly [seed: number, found: string])[] = [
  [41, "retained replicas that were counted as leaving"],
  [332, "copies that were recorded while their move was paused"],
  [405, "a move without surge, when some moving replicas have no feasible cluster"],
  [433, "a removed copy in an Unreachable cluster that took the capacity of a remaining one"],
  [760, "an ordinal in flight that was not recorded"],
  [1645, "a new copy that took the capacity of a copy in an Unreachable cluster"],
  [1689, "the capacity of a schedule in flight, taken by another workload after a restart"],
  [1898, "a copy whose move was cancelled by its author"],
  [2940, "a new ordinal that took the capacity of one that had to leave"],
  [4432, "replicas beyond the limit of a Location, because of an empty cluster outside of it"],
  [5013, "a schedule whose only cluster has capacity 0 by its author"],
  [5466, "replicas without a feasible cluster, removed before surplus ones of a Location"],
  [5780, "a rollout in a cluster that had not reported its Pods"],
  [13651, "ordinals above the limit, reserved as if they were in flight"],
  [15628, "replicas of an Unreachable cluster, retained though they were replaced"],
];

describe("workloads of every kind in seeded histories", () => {
  it("a history breaks no invariant, and becomes stable", () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed++) runHistory(seed);
  });

  it("a history with limits of Locations breaks no invariant, and becomes stable", () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed++)
      runHistory(seed, { isLimited: true });
  });

  it("a history with users who edit copies breaks no invariant, and becomes stable", () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed++)
      runHistory(seed, { areCopiesEdited: true });
  });

  for (const [seed, found] of telling) {
    it(`history ${seed} breaks no invariant, and becomes stable: ${found}`, () => {
      runHistory(seed);
    });
  }

  for (const [seed, found] of tellingBounded) {
    it(`history ${seed} with limits breaks no invariant, and becomes stable: ${found}`, () => {
      runHistory(seed, { isLimited: true });
    });
  }
});
