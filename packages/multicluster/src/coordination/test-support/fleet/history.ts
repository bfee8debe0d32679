/** One history of a fleet: what happens to it, and what must be when nothing happens any more. */
import assert from "node:assert/strict";
import { SeededRandom } from "@kcp-ts/testkit";
import { softFinalizersAnnotation } from "../../../api/index.ts";
import { capacityAnnotation, selectorAnnotation, weightsAnnotation } from "../../placement.ts";
import {
  maxSurgeAnnotation,
  maxUnavailableAnnotation,
  pausedAnnotation,
  progressDeadlineAnnotation,
} from "../../rollout.ts";
import { conditionsOf } from "../../workload.ts";
import { withSeed } from "../tell-seed.ts";
import { CronJobCopy, StatefulSetCopy } from "./copies.ts";
import { ClusterSet, type ClusterSetOptions, drainMsMax, tickMs } from "./fleet.ts";
import { checkLimitsWhenQuiescent, isLimited } from "./laws-of-bounds.ts";
import { checkRolloutComplete } from "./laws-of-rolling.ts";
import { isSelected } from "./permissions.ts";
import { reliablyReady } from "./readiness.ts";
import type { SimulatedWorkload } from "./whole.ts";

/** Fails with its seed and its history. */
export function runHistory(seed: number, options?: ClusterSetOptions): void {
  new History(seed, options).play();
}

type HistoryEvent = (history: History, name: string) => void;

/** Longer than a deadline, a grace, a lease with what is added, and a move in steps of one. */
const restMs = 1_800_000;
/** Then time passes faster: what is waited for is few steps of many seconds. */
const restTickMs = 2000;
/** Longer than any single wait. */
const quietMs = drainMsMax + 30_000;

class History {
  readonly fleet: ClusterSet;
  readonly names: readonly [string, ...string[]];
  readonly #flapping = new Map<string, number>();
  /** In every other history clusters are not alike: they have room for so many, and authors weigh them. */
  readonly #sizes: SeededRandom | undefined;
  #events = 0;

  constructor(seed: number, options?: ClusterSetOptions) {
    this.fleet = new ClusterSet(seed, options);
    const count = 2 + this.fleet.random.integer(11);
    const [first = "c1", ...others] = Array.from({ length: count }, (_, index) => `c${index + 1}`);
    this.names = [first, ...others];
    this.#sizes = seed % 2 === 0 ? undefined : new SeededRandom(seed);
  }

  get random() {
    return this.fleet.random;
  }

  get whole(): SimulatedWorkload {
    const [first, ...others] = this.fleet.wholes;
    assert.ok(first !== undefined);
    return this.random.pick([first, ...others]);
  }

  play(): void {
    const { fleet, random } = this;
    withSeed(random.seed, fleet.history, () => {
      for (const name of this.names) if (random.chance(0.6)) fleet.join(name);
      const ticks = 100 + random.integer(300);
      for (let tick = 0; tick < ticks; tick++) {
        if (random.chance(0.08)) this.#happen();
        if (this.#sizes?.chance(0.04) === true) this.#resize(this.#sizes);
        if (fleet.bounds?.random.chance(0.03) === true) this.#rebound();
        this.#tick();
      }
      this.#rest();
    });
  }

  flap(name: string): void {
    const machine = this.fleet.clusters.get(name);
    if (machine === undefined) return;
    machine.isUp = false;
    this.#flapping.set(name, this.fleet.nowMs + this.random.integer(40_000));
  }

  #happen(): void {
    this.#events++;
    const name = this.random.pick(this.names);
    const isThere = this.fleet.targets.has(name);
    const all = isThere ? [...toWholes, ...toClusters] : [...toWholes, joining];
    const [first, ...others] = all;
    if (first !== undefined) this.random.pick([first, ...others])(this, name);
  }

  #resize(sizes: SeededRandom): void {
    const { fleet } = this;
    const name = sizes.pick(this.names);
    const target = fleet.targets.get(name);
    if (target === undefined) return;
    this.#events++;
    if (sizes.chance(0.5)) {
      const pods = String(sizes.integer(8));
      target.allocatable = sizes.chance(0.3) ? undefined : { pods };
      fleet.note(`${name} has room for ${target.allocatable?.["pods"] ?? "all"}`);
      return;
    }
    const { whole } = this;
    const annotation = sizes.chance(0.6) ? weightsAnnotation : capacityAnnotation;
    const value = sizes.chance(0.3) ? null : `${name}=${sizes.integer(4)}`;
    fleet.note(`${whole.name} ${annotation}: ${value ?? "none"}`);
    whole.annotate({ [annotation]: value });
  }

  #rebound(): void {
    this.#events++;
    this.fleet.changeBounds((bounds) => {
      const { name, pods } = bounds.change();
      return `Location ${name} allows each tenant ${pods} pods`;
    });
  }

  #tick(elapsedMs = tickMs): void {
    const { fleet } = this;
    for (const [name, untilMs] of this.#flapping) {
      if (fleet.nowMs < untilMs) continue;
      this.#flapping.delete(name);
      const machine = fleet.clusters.get(name);
      if (machine !== undefined && fleet.targets.has(name)) machine.isUp = true;
      fleet.note(`${name} is back`);
    }
    fleet.tick(elapsedMs);
  }

  #rest(): void {
    const { fleet } = this;
    fleet.note("nothing happens any more");
    fleet.isAtRest = true;
    for (const whole of fleet.wholes) {
      whole.annotate({ [pausedAnnotation]: null });
      for (const claim of whole.claims.values()) claim.isRefused = false;
      for (const name of this.names)
        for (const { metadata } of whole.partsIn(name))
          whole.annotatePart(metadata.name, { [softFinalizersAnnotation(name)]: null });
    }
    for (const target of fleet.targets.values()) target.allocatable = undefined;
    for (const [name, machine] of fleet.clusters) {
      machine.isUp = fleet.targets.has(name);
      machine.isBroken = false;
      for (const copy of machine.copies.values()) copy.mend(fleet.nowMs);
    }
    this.#untilQuiet();
    if (fleet.bounds !== undefined) {
      checkLimitsWhenQuiescent(fleet, fleet.bounds);
      // A schedule cannot say that it is held.
      const mayBeHeld = (whole: SimulatedWorkload) =>
        whole.kind.law === "single" || isLimited(whole);
      for (const whole of fleet.wholes) if (!mayBeHeld(whole)) this.#checkAtRest(whole);
      fleet.changeBounds((bounds) => {
        bounds.isLifted = true;
        return "nothing is bounded any more";
      });
      this.#untilQuiet();
    }
    const before = fleet.writes;
    for (const whole of fleet.wholes) for (let look = 0; look < 3; look++) fleet.coordinate(whole);
    assert.equal(fleet.writes, before, "writes go on");
    const limit = (50 + this.#events * 60) * fleet.wholes.length;
    assert.ok(before <= limit, `${before} writes for ${this.#events} events`);
    for (const whole of fleet.wholes) this.#checkAtRest(whole);
    this.#checkDrains();
  }

  /** Until nothing has been written for longer than anybody waits. */
  #untilQuiet(): void {
    const { fleet } = this;
    let [written, writtenAtMs] = [fleet.writes, fleet.nowMs];
    for (let elapsed = 0; elapsed < restMs; elapsed += restTickMs) {
      this.#tick(restTickMs);
      if (fleet.writes !== written) [written, writtenAtMs] = [fleet.writes, fleet.nowMs];
      if (fleet.nowMs - writtenAtMs > quietMs) break;
    }
  }

  #checkAtRest(whole: SimulatedWorkload): void {
    const { fleet } = this;
    const open = [...fleet.targets.values()].filter(
      (target) =>
        fleet.judgement(target.name).standing === "accepting" && isSelected(whole.parent, target),
    );
    if (open.length === 0 || isHelpless(whole)) return;
    const { law } = whole.kind;
    const asked = whole.asked();
    const copies = fleet.copiesOf(whole);
    checkRolloutComplete(fleet, whole);
    if (law === "divided")
      assert.equal(reliablyReady(fleet, whole, asked), asked, `${whole.name} at rest`);
    else if (law === "numbered") {
      const numbers = copies.flatMap(([, copy]) =>
        copy instanceof StatefulSetCopy ? [...copy.numbers.keys()] : [],
      );
      const wanted = Array.from({ length: asked }, (_, index) => index);
      assert.deepEqual(
        numbers.sort((a, b) => a - b),
        wanted,
        `${whole.name} at rest`,
      );
    } else if (law === "everywhere") {
      for (const { name } of open)
        assert.equal(whole.partsIn(name).length, 1, `${whole.name} is in ${name} at rest`);
    } else if (law === "single") {
      const keepers = copies.filter(([, copy]) => copy instanceof CronJobCopy && copy.keeps);
      assert.equal(keepers.length, 1, `${whole.name} is kept by one at rest`);
    } else {
      const isComplete = conditionsOf(whole.parent).some(({ type }) => type === "Complete");
      assert.ok(isComplete, `${whole.name} is complete at rest`);
    }
  }

  /** A cluster that is drained is empty, if all that was there may be elsewhere. */
  #checkDrains(): void {
    const { fleet } = this;
    for (const [name, { drainSpec, drainStatus }] of fleet.targets) {
      if (drainSpec === undefined) continue;
      const left = fleet.wholes.filter((whole) => {
        const isElsewhere = [...fleet.targets.values()].some(
          (other) =>
            fleet.judgement(other.name).standing === "accepting" && isSelected(whole.parent, other),
        );
        return isElsewhere && !isHelpless(whole) && whole.partsIn(name).length > 0;
      });
      const what = left.map((whole) => whole.name).join(", ");
      assert.equal(what, "", `in ${name}, which is drained: ${JSON.stringify(drainStatus)}`);
    }
  }
}

/** It says that somebody has to do something: a cluster has one range of numbers, and what was given up waits for its author. */
function isHelpless({ parent }: SimulatedWorkload): boolean {
  const placed = conditionsOf(parent).find(({ type }) => type === "Placed");
  return placed?.reason === "OutOfRange" || placed?.reason === "RolledBack";
}

const joining: HistoryEvent = ({ fleet }, name) => fleet.join(name);

const toWholes: readonly HistoryEvent[] = [
  ({ whole, random }) => whole.edit(whole.kind.edited(whole.parent.spec, random)),
  ({ whole, random }) => whole.edit(whole.kind.edited(whole.parent.spec, random)),
  said(selectorAnnotation, ({ random }) => `zone in (${random.pick(["a", "b", "a,b"])})`),
  said(maxSurgeAnnotation, ({ random }) => random.pick(["0", "1", "25%"])),
  said(maxUnavailableAnnotation, ({ random }) => random.pick(["0", "1", "30%"])),
  said(pausedAnnotation, ({ random }) => random.pick(["true", "false"])),
  said(progressDeadlineAnnotation, ({ random }) => random.pick(["5", "30"])),
  ({ whole, random, fleet }) => {
    for (const claim of whole.claims.values()) {
      claim.isRefused = random.chance(0.4);
      if (claim.isRefused) fleet.note(`claim ${claim.number} of ${whole.name} may not go`);
    }
  },
];

function said(annotation: string, draw: (history: History) => string): HistoryEvent {
  return (history) => {
    const { whole, random, fleet } = history;
    const value = random.chance(0.3) ? null : draw(history);
    fleet.note(`${whole.name} ${annotation}: ${value ?? "none"}`);
    whole.annotate({ [annotation]: value });
  };
}

const toClusters: readonly HistoryEvent[] = [
  (history, name) => {
    history.fleet.note(`${name} flaps`);
    history.flap(name);
  },
  ({ fleet }, name) => {
    const machine = fleet.clusters.get(name);
    if (machine === undefined) return;
    machine.isUp = !machine.isUp;
    fleet.note(`${name} ${machine.isUp ? "is back" : "is cut off"}`);
  },
  ({ fleet }, name) => {
    const machine = fleet.clusters.get(name);
    if (machine === undefined) return;
    machine.isUp = false;
    for (const copy of machine.copies.values()) copy.burn();
    fleet.note(`${name} burns`);
  },
  ({ fleet }, name) => {
    const machine = fleet.clusters.get(name);
    if (machine === undefined) return;
    machine.isBroken = !machine.isBroken;
    if (!machine.isBroken) for (const copy of machine.copies.values()) copy.mend(fleet.nowMs);
    fleet.note(`${name} ${machine.isBroken ? "starts nothing any more" : "is mended"}`);
  },
  ({ fleet }, name) => {
    const target = fleet.targets.get(name);
    if (target === undefined) return;
    target.isUnschedulable = !target.isUnschedulable;
    fleet.note(`${name} ${target.isUnschedulable ? "is cordoned" : "is open again"}`);
  },
  ({ fleet, random }, name) => {
    const target = fleet.targets.get(name);
    if (target === undefined) return;
    const budget = { workloads: 1 + random.integer(2) };
    const spec = random.chance(0.5) ? {} : { budget };
    target.drainSpec = target.drainSpec === undefined ? spec : undefined;
    const how = target.drainSpec === undefined ? "no longer drained" : "drained";
    fleet.note(`${name} is ${how} ${JSON.stringify(target.drainSpec ?? {})}`);
  },
  ({ fleet, random }, name) => {
    const target = fleet.targets.get(name);
    if (target === undefined) return;
    target.evictAfterMs =
      target.evictAfterMs === undefined ? fleet.nowMs + random.integer(10_000) : undefined;
    fleet.note(`${name} ${target.evictAfterMs === undefined ? "may stay" : "is to be emptied"}`);
  },
  ({ fleet }, name) => {
    const target = fleet.targets.get(name);
    if (target === undefined) return;
    target.isDeleting = true;
    fleet.note(`${name} leaves`);
  },
  ({ fleet, whole, random }, name) => {
    for (const { metadata } of whole.partsIn(name)) {
      const holder = random.chance(0.5) ? "traffic" : null;
      fleet.note(`${metadata.name} is ${holder === null ? "let go" : "held"}`);
      whole.annotatePart(metadata.name, { [softFinalizersAnnotation(name)]: holder });
    }
  },
];
