/**
 * Seeded histories of a fleet of 2 to 12 clusters that tenants share, with workloads of every kind: StatefulSets with numbers and claims, Jobs, DaemonSets, ClusterDaemonSets,
 * CronJobs, bare Pods and kinds of people's own beside Deployments. Clusters join, are lost, flap, break, are cordoned, drained at once or on a budget, evicted and deleted;
 * authors scale, edit, select, weigh, pause and hold; room comes and goes; drains are taken back; and whoever decides reads late and is stopped in the middle of any step.
 *
 * Each is played twice: without bounds, and with Locations that bound what a tenant may use of their clusters and change their minds about it.
 *
 * The laws are in `test-support/fleet/laws.ts`, one for each kind; `fleet-laws.test.ts` shows what they find. When nothing happens any more, everything comes to rest where it may be, a cluster that is drained is
 * empty if there is another, and no more is written.
 *
 * KCP_HISTORIES=10000 plays more of them, from seed KCP_SEED on. A failure prints its seed and its history.
 */
import { describe, it } from "node:test";
import { runHistory } from "./test-support/fleet/history.ts";

const histories = Number(process.env["KCP_HISTORIES"] ?? 30);
const firstSeed = Number(process.env["KCP_SEED"] ?? 0);

/** Those that found something, and what. */
const telling: readonly (readonly [seed: number, found: string])[] = [
  [13, "a StatefulSet that came to a cluster without room for it"],
  [24, "a DaemonSet that left a cluster before it was available in another"],
  [1781, "a Pod that went back to where it was being removed"],
  [2010, "a number that left while another was missing, when fewer were asked for"],
  [3120, "a claim that was asked for in a cluster that had left"],
  [3785, "two clusters that had their turn at once, where one was to follow the other"],
  [5275, "a number that left by a report from before its cluster was cut off"],
  [5420, "a StatefulSet with nowhere to go, and a drain on a budget"],
  [5629, "turns that were given beside a cut of a part whose Pods were being replaced"],
  [
    7692,
    "a Pod that was taken from a lost cluster before its fence was up, because of one that was being removed",
  ],
  [7887, "a rollout that was undone beside such a cut, in a cluster that was to be emptied"],
  [7961, "such a cut by one, and a turn for one"],
  [9238, "a Pod that was late in two clusters, and sent from one to the other for ever"],
  [17503, "a replica that was started while another, which was being removed, could be, too"],
];

/** The same, with bounds. */
const tellingBounded: readonly (readonly [seed: number, found: string])[] = [
  [41, "what stays where it is, which was counted as if it went"],
  [332, "copies that were decided while their move was paused"],
  [405, "a move without a surge, where not all that moves has a place"],
  [433, "a copy that is being removed in a lost cluster, which had room before one that stays"],
  [760, "a number between two clusters, which was not on record"],
  [1645, "a new copy in the room of one that is in a lost cluster"],
  [1689, "the room of a schedule between two clusters, which another had when a process ended"],
  [1898, "a copy that was to go elsewhere, when its author thought better of it"],
  [2940, "a number that never was, in the room of one that had to leave"],
  [4432, "replicas beyond what a Location allows, because an empty cluster was outside of it"],
  [5013, "a schedule with no cluster but one that its author gave no room"],
  [5466, "what had nowhere to go, cut before what was too much inside of a Location"],
  [5780, "a rollout in a cluster that had not said how many Pods it has"],
  [13651, "numbers that may be nowhere, held as if they were on their way"],
  [15628, "what a lost cluster has, kept though it was replaced"],
];

describe("a fleet with workloads of every kind, in many histories", () => {
  it("breaks no law, and comes to rest", () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed++) runHistory(seed);
  });

  it("breaks no law, and comes to rest, where Locations bound what tenants use", () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed++)
      runHistory(seed, { isBounded: true });
  });

  for (const [seed, found] of telling) {
    it(`breaks no law, and comes to rest, in history ${seed}: ${found}`, () => {
      runHistory(seed);
    });
  }

  for (const [seed, found] of tellingBounded) {
    it(`breaks no law, and comes to rest, in history ${seed} with bounds: ${found}`, () => {
      runHistory(seed, { isBounded: true });
    });
  }
});
