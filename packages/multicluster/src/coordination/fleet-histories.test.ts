/**
 * Seeded histories of a fleet of 2 to 12 clusters that tenants share, with workloads of every kind: StatefulSets with numbers and claims, Jobs, DaemonSets, ClusterDaemonSets,
 * CronJobs, bare Pods and kinds of people's own beside Deployments. Clusters join, are lost, flap, break, are cordoned, drained at once or on a budget, evicted and deleted;
 * authors scale, edit, select, pause and hold; drains are taken back; and whoever decides reads late and is stopped in the middle of any step.
 *
 * The laws are in `test-support/fleet/laws.ts`, one for each kind. When nothing happens any more, everything comes to rest where it may be, a cluster that is drained is
 * empty if there is another, and no more is written.
 *
 * KCP_HISTORIES=10000 plays more of them, from seed KCP_SEED on. A failure prints its seed and its history.
 */
import { describe, it } from "node:test";
import { playHistory } from "./test-support/fleet/history.ts";

const histories = Number(process.env["KCP_HISTORIES"] ?? 60);
const firstSeed = Number(process.env["KCP_SEED"] ?? 0);

/** Those that found something, and what. */
const telling: readonly (readonly [seed: number, found: string])[] = [
  [35, "at most one of a kind that does not say what runs"],
  [41, "at most one, scaled down while a cluster is lost"],
  [47, "the empty part of a lost cluster held all numbers"],
  [52, "a number left while another was missing"],
  [106, "a Pod that ran twice after its cluster was back"],
  [169, "a drain that stood still between ranges"],
  [198, "a Job's part that was held, and removed"],
  [861, "a Job with two parts in a cluster that is drained on a budget"],
  [1244, "a number that was taken before it was said to run"],
  [1572, "a single one with no surge, that could never leave"],
  [2093, "a ClusterDaemonSet with nowhere to go, and a drain on a budget"],
  [962, "a CronJob with nowhere to go, and a drain on a budget"],
  [5420, "a StatefulSet with nowhere to go, and a drain on a budget"],
];

describe("a fleet with workloads of every kind, in many histories", () => {
  it("breaks no law, and comes to rest", () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed++) playHistory(seed);
  });

  for (const [seed, found] of telling) {
    it(`breaks no law, and comes to rest, in history ${seed}: ${found}`, () => {
      playHistory(seed);
    });
  }
});
