/**
 * One history of simulated clusters: the changes, and the final state when nothing happens any
 * more.
 */
import assert from "node:assert/strict";
import { SeededRandom } from "@kcp-ts/testkit";
import { softFinalizersAnnotation } from "../../../api/index.ts";
import { deploymentStrategy } from "../../deployment-strategy.ts";
import { capacityAnnotation, selectorAnnotation, weightsAnnotation } from "../../placement.ts";
import {
  maxSurgeAnnotation,
  maxUnavailableAnnotation,
  pausedAnnotation,
  progressDeadlineAnnotation,
} from "../../rollout-policy.ts";
import { conditionsOf, statusCount, type Workload } from "../../workload.ts";
import { withSeed } from "../with-seed.ts";
import { ClusterSet, type ClusterSetOptions, drainMsMax, tickMs } from "./cluster-set.ts";
import { isSelected } from "./eligibility.ts";
import { checkLimitsWhenQuiescent, isLimited } from "./limit-invariants.ts";
import { reliablyReady } from "./readiness.ts";
import { checkRolloutComplete } from "./rollout-invariants.ts";
import { CronJobCopy, StatefulSetCopy } from "./simulated-copies.ts";
import { clusterOf, type SimulatedWorkload } from "./simulated-workload.ts";

/** Runs a history; an error contains its seed and its log. */
export function runHistory(seed: number, options?: ClusterSetOptions): void {
  new History(seed, options).run();
}

type HistoryEvent = (history: History, name: string) => void;

/** Longer than a deadline, a grace period, a lease with its margin, and a move in steps of one. */
const restMs = 1_800_000;
/** The step at rest is longer: the remaining work has few steps of many seconds. */
const restTickMs = 2000;
/** Longer than any single delay. */
const quietMs = drainMsMax + 30_000;

class History {
  readonly clusterSet: ClusterSet;
  readonly names: readonly [string, ...string[]];
  readonly #flapping = new Map<string, number>();
  /** In every other history clusters differ: each has a capacity, and authors set weights. */
  readonly #sizes: SeededRandom | undefined;
  /** Users who edit and delete copies. */
  readonly #editors: SeededRandom | undefined;
  #events = 0;

  constructor(seed: number, options?: ClusterSetOptions) {
    this.clusterSet = new ClusterSet(seed, options);
    const count = 2 + this.clusterSet.random.integer(11);
    const [first = "c1", ...others] = Array.from({ length: count }, (_, index) => `c${index + 1}`);
    this.names = [first, ...others];
    this.#sizes = seed % 2 === 0 ? undefined : new SeededRandom(seed);
    this.#editors = options?.areCopiesEdited === true ? new SeededRandom(seed) : undefined;
  }

  get random() {
    return this.clusterSet.random;
  }

  get workload(): SimulatedWorkload {
    const [first, ...others] = this.clusterSet.workloads;
    assert.ok(first !== undefined);
    return this.random.pick([first, ...others]);
  }

  run(): void {
    const { clusterSet, random } = this;
    withSeed(random.seed, clusterSet.history, () => {
      for (const name of this.names) if (random.chance(0.6)) clusterSet.join(name);
      const ticks = 100 + random.integer(300);
      for (let tick = 0; tick < ticks; tick++) {
        if (random.chance(0.08)) this.#happen();
        if (this.#sizes?.chance(0.04) === true) this.#resize(this.#sizes);
        if (this.#editors?.chance(0.03) === true) this.#editCopy(this.#editors);
        if (clusterSet.limits?.random.chance(0.03) === true) this.#rebound();
        this.#tick();
      }
      this.#rest();
    });
  }

  flap(name: string): void {
    const machine = this.clusterSet.clusters.get(name);
    if (machine === undefined) return;
    machine.isUp = false;
    this.#flapping.set(name, this.clusterSet.nowMs + this.random.integer(40_000));
  }

  #happen(): void {
    this.#events++;
    const name = this.random.pick(this.names);
    const isThere = this.clusterSet.targets.has(name);
    const all = isThere ? [...toWholes, ...toClusters] : [...toWholes, joining];
    const [first, ...others] = all;
    if (first !== undefined) this.random.pick([first, ...others])(this, name);
  }

  #resize(sizes: SeededRandom): void {
    const { clusterSet } = this;
    const name = sizes.pick(this.names);
    const target = clusterSet.targets.get(name);
    if (target === undefined) return;
    this.#events++;
    if (sizes.chance(0.5)) {
      const pods = String(sizes.integer(8));
      target.allocatable = sizes.chance(0.3) ? undefined : { pods };
      clusterSet.note(`${name} has room for ${target.allocatable?.["pods"] ?? "all"}`);
      return;
    }
    const { workload } = this;
    const annotation = sizes.chance(0.6) ? weightsAnnotation : capacityAnnotation;
    const value = sizes.chance(0.3) ? null : `${name}=${sizes.integer(4)}`;
    clusterSet.note(`${workload.name} ${annotation}: ${value ?? "none"}`);
    workload.annotate({ [annotation]: value });
  }

  #editCopy(editors: SeededRandom): void {
    const copies = this.clusterSet.workloads.flatMap((workload) =>
      workload.kind.invariants === "divided" && !workload.isStopBeforeStart
        ? [...workload.copies.values()].map((copy) => [workload, copy] as const)
        : [],
    );
    const [first, ...others] = copies;
    if (first === undefined) return;
    this.#events++;
    const [workload, copy] = editors.pick([first, ...others]);
    this.clusterSet.note(`a user edits ${workload.tenant}/${copy.metadata.name}`);
    if (editors.chance(0.5)) workload.remove(copy, this.clusterSet.nowMs);
    else workload.update({ ...copy, spec: { ...copy.spec, replicas: editors.integer(9) } });
  }

  #rebound(): void {
    this.#events++;
    this.clusterSet.changeLimits((limits) => {
      const { name, pods } = limits.change();
      return `Location ${name} allows each tenant ${pods} pods`;
    });
  }

  #tick(elapsedMs = tickMs): void {
    const { clusterSet } = this;
    for (const [name, untilMs] of this.#flapping) {
      if (clusterSet.nowMs < untilMs) continue;
      this.#flapping.delete(name);
      const machine = clusterSet.clusters.get(name);
      if (machine !== undefined && clusterSet.targets.has(name)) machine.isUp = true;
      clusterSet.note(`${name} is back`);
    }
    clusterSet.tick(elapsedMs);
  }

  #rest(): void {
    const { clusterSet } = this;
    clusterSet.note("nothing happens any more");
    clusterSet.isAtRest = true;
    for (const workload of clusterSet.workloads) {
      workload.annotate({ [pausedAnnotation]: null });
      for (const claim of workload.claims.values()) claim.isRefused = false;
      for (const name of this.names)
        for (const { metadata } of workload.copiesIn(name))
          workload.annotateCopy(metadata.name, { [softFinalizersAnnotation(name)]: null });
    }
    for (const target of clusterSet.targets.values()) target.allocatable = undefined;
    for (const [name, machine] of clusterSet.clusters) {
      machine.isUp = clusterSet.targets.has(name);
      machine.isBroken = false;
      for (const copy of machine.copies.values()) copy.repairPods(clusterSet.nowMs);
    }
    this.#untilQuiet();
    if (clusterSet.limits !== undefined) {
      checkLimitsWhenQuiescent(clusterSet, clusterSet.limits);
      // A CronJob has no condition that could report a blocked disruption.
      const mayBeHeld = (workload: SimulatedWorkload) =>
        workload.kind.invariants === "single" || isLimited(workload);
      for (const workload of clusterSet.workloads)
        if (!mayBeHeld(workload)) this.#checkAtRest(workload);
      clusterSet.changeLimits((limits) => {
        limits.isUnlimited = true;
        return "nothing is bounded any more";
      });
      this.#untilQuiet();
    }
    const before = clusterSet.writes;
    for (const workload of clusterSet.workloads)
      for (let look = 0; look < 3; look++) clusterSet.coordinate(workload);
    assert.equal(clusterSet.writes, before, "writes go on");
    const limit = (50 + this.#events * 60) * clusterSet.workloads.length;
    assert.ok(before <= limit, `${before} writes for ${this.#events} events`);
    for (const workload of clusterSet.workloads) this.#checkAtRest(workload);
    this.#checkDrains();
  }

  /** Runs until nothing has been written for longer than any delay. */
  #untilQuiet(): void {
    const { clusterSet } = this;
    let [written, writtenAtMs] = [clusterSet.writes, clusterSet.nowMs];
    for (let elapsed = 0; elapsed < restMs; elapsed += restTickMs) {
      this.#tick(restTickMs);
      if (clusterSet.writes !== written)
        [written, writtenAtMs] = [clusterSet.writes, clusterSet.nowMs];
      if (clusterSet.nowMs - writtenAtMs > quietMs) break;
    }
  }

  #checkAtRest(workload: SimulatedWorkload): void {
    const { clusterSet } = this;
    const open = [...clusterSet.targets.values()].filter(
      (target) =>
        clusterSet.evaluation(target.name).state === "Ready" && isSelected(workload.parent, target),
    );
    if (open.length === 0 || isHelpless(workload)) return;
    const { invariants } = workload.kind;
    const requested = workload.desiredReplicas();
    const copies = clusterSet.copiesOf(workload);
    checkRolloutComplete(clusterSet, workload);
    if (invariants === "divided") {
      const ready = reliablyReady(clusterSet, workload, requested);
      assert.equal(ready, requested, `${workload.name} at rest`);
      this.#checkReport(workload, requested);
    } else if (invariants === "ordinal") {
      const numbers = copies.flatMap(([, copy]) =>
        copy instanceof StatefulSetCopy ? [...copy.ordinals.keys()] : [],
      );
      const wanted = Array.from({ length: requested }, (_, index) => index);
      assert.deepEqual(
        numbers.sort((a, b) => a - b),
        wanted,
        `${workload.name} at rest`,
      );
    } else if (invariants === "duplicated") {
      for (const { name } of open)
        assert.equal(workload.copiesIn(name).length, 1, `${workload.name} is in ${name} at rest`);
    } else if (invariants === "single") {
      const keepers = copies.filter(([, copy]) => copy instanceof CronJobCopy && copy.isScheduling);
      assert.equal(keepers.length, 1, `${workload.name} is kept by one at rest`);
    } else {
      const isComplete = conditionsOf(workload.parent).some(({ type }) => type === "Complete");
      assert.ok(isComplete, `${workload.name} is complete at rest`);
    }
  }

  /** The status of a Deployment has the sums of its copies, for its newest spec. */
  #checkReport(workload: SimulatedWorkload, requested: number): void {
    const { parent, copies, kind } = workload;
    if (kind.strategy !== deploymentStrategy) return;
    const isCounted = (copy: Workload) =>
      !["Unreachable", "Unregistered"].includes(this.clusterSet.evaluation(clusterOf(copy)).state);
    const counted = [...copies.values()].filter(isCounted);
    for (const field of ["readyReplicas", "replicas", "updatedReplicas"]) {
      const sum = counted.reduce((total, copy) => total + statusCount(copy, field), 0);
      assert.equal(statusCount(parent, field), sum, `${field} of ${workload.name} at rest`);
    }
    assert.equal(statusCount(parent, "readyReplicas"), requested, `${workload.name} at rest`);
    assert.equal(statusCount(parent, "observedGeneration"), parent.metadata.generation);
  }

  /** A drained cluster is empty, if every workload in it has a feasible cluster. */
  #checkDrains(): void {
    const { clusterSet } = this;
    for (const [name, { drainSpec, drainStatus }] of clusterSet.targets) {
      if (drainSpec === undefined) continue;
      const left = clusterSet.workloads.filter((workload) => {
        const isElsewhere = [...clusterSet.targets.values()].some(
          (other) =>
            clusterSet.evaluation(other.name).state === "Ready" &&
            isSelected(workload.parent, other),
        );
        return isElsewhere && !isHelpless(workload) && workload.copiesIn(name).length > 0;
      });
      const what = left.map((workload) => workload.name).join(", ");
      assert.equal(what, "", `in ${name}, which is drained: ${JSON.stringify(drainStatus)}`);
    }
  }
}

/**
 * The status requires a user's action: a cluster has one ordinal range, and a move that was rolled
 * back waits for another request.
 */
function isHelpless({ parent }: SimulatedWorkload): boolean {
  const placed = conditionsOf(parent).find(({ type }) => type === "Scheduled");
  return placed?.reason === "OrdinalRangeExhausted" || placed?.reason === "RolledBack";
}

const joining: HistoryEvent = ({ clusterSet }, name) => clusterSet.join(name);

const toWholes: readonly HistoryEvent[] = [
  ({ workload, random }) => workload.edit(workload.kind.edited(workload.parent.spec, random)),
  ({ workload, random }) => workload.edit(workload.kind.edited(workload.parent.spec, random)),
  said(selectorAnnotation, ({ random }) => `zone in (${random.pick(["a", "b", "a,b"])})`),
  said(maxSurgeAnnotation, ({ random }) => random.pick(["0", "1", "25%"])),
  said(maxUnavailableAnnotation, ({ random }) => random.pick(["0", "1", "30%"])),
  said(pausedAnnotation, ({ random }) => random.pick(["true", "false"])),
  said(progressDeadlineAnnotation, ({ random }) => random.pick(["5", "30"])),
  ({ workload, random, clusterSet }) => {
    for (const claim of workload.claims.values()) {
      claim.isRefused = random.chance(0.4);
      if (claim.isRefused) clusterSet.note(`claim ${claim.ordinal} of ${workload.name} may not go`);
    }
  },
];

function said(annotation: string, draw: (history: History) => string): HistoryEvent {
  return (history) => {
    const { workload, random, clusterSet } = history;
    const value = random.chance(0.3) ? null : draw(history);
    clusterSet.note(`${workload.name} ${annotation}: ${value ?? "none"}`);
    workload.annotate({ [annotation]: value });
  };
}

const toClusters: readonly HistoryEvent[] = [
  (history, name) => {
    history.clusterSet.note(`${name} flaps`);
    history.flap(name);
  },
  ({ clusterSet }, name) => {
    const machine = clusterSet.clusters.get(name);
    if (machine === undefined) return;
    machine.isUp = !machine.isUp;
    clusterSet.note(`${name} ${machine.isUp ? "is back" : "is cut off"}`);
  },
  ({ clusterSet }, name) => {
    const machine = clusterSet.clusters.get(name);
    if (machine === undefined) return;
    machine.isUp = false;
    for (const copy of machine.copies.values()) copy.breakPods();
    clusterSet.note(`${name} burns`);
  },
  ({ clusterSet }, name) => {
    const machine = clusterSet.clusters.get(name);
    if (machine === undefined) return;
    machine.isBroken = !machine.isBroken;
    if (!machine.isBroken)
      for (const copy of machine.copies.values()) copy.repairPods(clusterSet.nowMs);
    clusterSet.note(`${name} ${machine.isBroken ? "starts nothing any more" : "is mended"}`);
  },
  ({ clusterSet }, name) => {
    const target = clusterSet.targets.get(name);
    if (target === undefined) return;
    target.isUnschedulable = !target.isUnschedulable;
    clusterSet.note(`${name} ${target.isUnschedulable ? "is cordoned" : "is open again"}`);
  },
  ({ clusterSet, random }, name) => {
    const target = clusterSet.targets.get(name);
    if (target === undefined) return;
    const budget = { workloads: 1 + random.integer(2) };
    const spec = random.chance(0.5) ? {} : { budget };
    target.drainSpec = target.drainSpec === undefined ? spec : undefined;
    const how = target.drainSpec === undefined ? "no longer drained" : "drained";
    clusterSet.note(`${name} is ${how} ${JSON.stringify(target.drainSpec ?? {})}`);
  },
  ({ clusterSet }, name) => {
    const target = clusterSet.targets.get(name);
    if (target === undefined) return;
    target.isDeleting = true;
    clusterSet.note(`${name} leaves`);
  },
  ({ clusterSet, workload, random }, name) => {
    for (const { metadata } of workload.copiesIn(name)) {
      const holder = random.chance(0.5) ? "traffic" : null;
      clusterSet.note(`${metadata.name} is ${holder === null ? "let go" : "held"}`);
      workload.annotateCopy(metadata.name, { [softFinalizersAnnotation(name)]: holder });
    }
  },
];
