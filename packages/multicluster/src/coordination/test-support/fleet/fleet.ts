/**
 * A fleet without servers: clusters that several tenants share, workloads of every kind, and around them whoever coordinates, drains, syncs and moves claims; each looks
 * late, from an older state at times, and may be stopped between any two of its writes. Everything is drawn from one seed.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { SeededRandom } from "@kcp-ts/testkit";
import {
  canBeFenced,
  type DrainSpec,
  type DrainStatus,
  evictAnnotation,
} from "../../../api/index.ts";
import { type Occupant, wholeBlock } from "../../../drain/index.ts";
import type { Decision } from "../../decide.ts";
import { placementHistoryAnnotation } from "../../placement-history.ts";
import { atMostOneAnnotation } from "../../rollout.ts";
import { type Judgement, judge, type Patience, type Target } from "../../standing.ts";
import type { Workload } from "../../workload.ts";
import { leaseMs, stopLateMsMax } from "../lease.ts";
import { FleetBounds } from "./bounds.ts";
import { moveClaims } from "./claims.ts";
import { type Copy, NumberedCopy, ScheduleCopy, startOf } from "./copies.ts";
import { fleetKinds } from "./fleet-kinds.ts";
import { afterStep, beforeAsking, beforeBringing, beforeCreation, checkedWrite } from "./laws.ts";
import { checkPromises } from "./laws-of-bounds.ts";
import { type Product, product as realProduct } from "./product.ts";
import { clusterOf, type Seen, Whole } from "./whole.ts";

export const patience: Patience = { graceMs: 30_000, settleMs: 5000 };
export const tickMs = 500;
/** So long a cluster that leaves waits for what is there. */
export const leavingMsMax = 120_000;

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

export class Machine {
  /** By namespace and name, as the cluster knows them. */
  readonly copies = new Map<string, Copy>();
  /** Whose each namespace is. */
  readonly tenants = new Map<string, string>();
  readonly uid: string;
  isUp = true;
  isBroken = false;
  leaseUntilMs = Number.NEGATIVE_INFINITY;
  stopsAtMs = Number.POSITIVE_INFINITY;

  constructor(uid: string) {
    this.uid = uid;
  }
}

export interface FleetOptions {
  readonly product?: Product | undefined;
  /** Whether Locations bound what tenants use. */
  readonly isBounded?: boolean | undefined;
}

export interface FleetTarget extends Mutable<Target> {
  drainSpec: DrainSpec | undefined;
  drainStatus: DrainStatus | undefined;
  leavingSinceMs: number | undefined;
}

export class Fleet {
  readonly random: SeededRandom;
  readonly history: string[] = [];
  readonly clusters = new Map<string, Machine>();
  readonly targets = new Map<string, FleetTarget>();
  readonly wholes: Whole[] = [];
  nowMs = Date.UTC(2026, 0, 1);
  /** Nothing happens any more: no schedule is due. */
  isAtRest = false;
  #targetsText = "";
  #targetsVersion = 0;
  #seenTargets: ReadonlyMap<string, Target> = new Map();
  readonly #judgements = new Map<string, Judgement>();
  readonly #looks = new Map<Whole, Seen>();
  readonly #settled = new Map<Whole, { readonly state: string; readonly untilMs: number }>();
  readonly #product: Product;
  readonly #namespaces = new Map<string, string>();
  /** Locations that bound what tenants use; undefined where nobody has any. */
  readonly bounds: FleetBounds | undefined;
  #joins = 0;

  constructor(seed: number, { product = realProduct, isBounded = false }: FleetOptions = {}) {
    this.random = new SeededRandom(seed);
    this.#product = product;
    const onNews = (whole: Whole) => this.#settled.delete(whole);
    this.bounds = isBounded ? new FleetBounds(seed, onNews) : undefined;
    const count = 2 + this.random.integer(3);
    for (let index = 0; index < count; index++) this.#deploy(`tenant-${this.random.integer(2)}`);
  }

  note(text: string): void {
    this.history.push(`${((this.nowMs - Date.UTC(2026, 0, 1)) / 1000).toFixed(1)}s ${text}`);
  }

  #deploy(tenant: string): void {
    const kind = this.random.pick(fleetKinds);
    if (this.wholes.some((one) => one.tenant === tenant && one.kind === kind)) return;
    const isOnce = kind.law === "ending" ? this.random.seed % 4 === 0 : this.random.chance(0.25);
    const spec = kind.spec(this.random);
    const whole = new Whole({ tenant, kind, isOnce }, spec, (text) => this.note(text));
    if (isOnce) whole.annotate({ [atMostOneAnnotation]: "true" });
    this.note(`${whole.name}${isOnce ? " (at most one)" : ""}: ${JSON.stringify(spec)}`);
    this.wholes.push(whole);
  }

  get writes(): number {
    return this.wholes.reduce((sum, { writes }) => sum + writes, 0);
  }

  join(name: string): void {
    this.clusters.set(name, new Machine(`uid-${this.#joins++}`));
    const labels = { zone: this.random.pick(["a", "b"]) };
    this.targets.set(name, {
      name,
      labels,
      taints: [],
      isReady: false,
      changedAtMs: this.nowMs,
      isUnschedulable: false,
      evictAfterMs: undefined,
      isDeleting: false,
      synced: undefined,
      drainSpec: undefined,
      drainStatus: undefined,
      leavingSinceMs: undefined,
      allocatable: undefined,
    } as unknown as FleetTarget);
    this.note(`${name} joins in ${labels.zone}`);
  }

  /** As of the last look at the clusters. */
  judgement(name: string): Judgement {
    const known = this.#judgements.get(name);
    if (known !== undefined) return known;
    const judged = judge(this.#seenTargets.get(name), this.nowMs, patience);
    this.#judgements.set(name, judged);
    return judged;
  }

  /** What is done to them happens between two looks. */
  #lookAtTargets(): void {
    const text = JSON.stringify([...this.targets.values()]);
    this.#judgements.clear();
    if (text === this.#targetsText) return;
    this.#targetsText = text;
    this.#targetsVersion++;
    this.#seenTargets = new Map([...this.targets].map(([name, one]) => [name, asTarget(one)]));
  }

  tick(elapsedMs: number): void {
    this.nowMs += elapsedMs;
    for (const [name, machine] of this.clusters) {
      this.#watchHealth(name, machine);
      this.#keepLease(name, machine);
      for (const whole of this.wholes) this.#sync(name, machine, whole);
      for (const copy of machine.copies.values()) {
        if (copy instanceof ScheduleCopy) copy.mayStart = !this.isAtRest;
        copy.step(this.nowMs, machine.isBroken);
      }
      this.#leave(name, machine);
    }
    for (const [name, target] of this.targets)
      if (this.random.chance(0.4)) this.#lookAtDrain(name, target);
    this.#lookAtTargets();
    this.bounds?.see(this.wholes);
    for (const whole of this.wholes) {
      if (whole.kind.hasClaims === true) moveClaims(this, whole);
      if (this.random.chance(0.6) && this.#isNews(whole)) this.coordinate(whole);
      afterStep(this, whole);
    }
  }

  /** The namespace that a tenant's objects are in, in a cluster. */
  namespaceOf(cluster: string, { uid }: Machine, tenant: string): string {
    const key = `${uid} ${tenant}`;
    const known = this.#namespaces.get(key);
    if (known !== undefined) return known;
    const identity = { name: cluster, cluster: "compute", uid };
    const at = { cluster: tenant as ClusterName, namespace: "demo" };
    const namespace = this.#product.namespaceOf(identity, at);
    this.#namespaces.set(key, namespace);
    return namespace;
  }

  copyOf(whole: Whole, { metadata: { name } }: Workload, cluster: string): Copy | undefined {
    const machine = this.clusters.get(cluster);
    if (machine === undefined) return undefined;
    return machine.copies.get(`${this.namespaceOf(cluster, machine, whole.tenant)}/${name}`);
  }

  /** By cluster. */
  copiesOf(whole: Whole): readonly (readonly [cluster: string, copy: Copy])[] {
    const found: (readonly [string, Copy])[] = [];
    for (const [cluster, machine] of this.clusters) {
      if (machine.copies.size === 0) continue;
      const namespace = this.namespaceOf(cluster, machine, whole.tenant);
      const prefix = `${namespace}/${whole.kind.name}--`;
      for (const [id, copy] of machine.copies)
        if (id.startsWith(prefix)) found.push([cluster, copy]);
    }
    return found;
  }

  /** Whether a number runs in a cluster, or may be started there without anybody being asked. */
  mayRun(whole: Whole, cluster: string, number: number): boolean {
    const isTold = whole.partsIn(cluster).some((part) => {
      const { replicas } = whole.kind.strategy.shareOf(part);
      const start = startOf(part.spec);
      return number >= start && number < start + replicas;
    });
    if (isTold) return true;
    return this.copiesOf(whole).some(([where, copy]) => {
      if (where !== cluster || !(copy instanceof NumberedCopy)) return false;
      const { start, end } = copy.range;
      return copy.numbers.has(number) || (number >= start && number < end);
    });
  }

  #watchHealth(name: string, machine: Machine): void {
    const target = this.targets.get(name);
    if (target === undefined || target.isReady === machine.isUp) return;
    if (!this.random.chance(0.3)) return;
    target.isReady = machine.isUp;
    target.changedAtMs = this.nowMs;
    this.note(`${name} is ${target.isReady ? "Ready" : "not Ready"}`);
  }

  /** Heartbeats count while the API says that they are heard. */
  #keepLease(name: string, machine: Machine): void {
    if (machine.isUp && this.targets.get(name)?.isReady === true) {
      machine.leaseUntilMs = this.nowMs + leaseMs;
      machine.stopsAtMs = machine.leaseUntilMs + this.random.integer(stopLateMsMax);
    } else if (this.nowMs >= machine.stopsAtMs) {
      // Of what it knows how to stop.
      const isStopped = ({ isOnce, kind }: Whole) => isOnce && canBeFenced(kind.strategy.parts);
      for (const whole of this.wholes.filter(isStopped))
        for (const [cluster, copy] of this.copiesOf(whole))
          if (cluster === name) {
            copy.halt();
            copy.burn();
          }
    }
  }

  #sync(cluster: string, machine: Machine, whole: Whole): void {
    if (!machine.isUp || !this.targets.has(cluster)) return;
    // Without its lease an agent starts nothing that may run once at most.
    const mayHear = !whole.isOnce || this.nowMs < machine.leaseUntilMs;
    const parts = whole.partsIn(cluster);
    if (parts.length === 0) return;
    const namespace = this.namespaceOf(cluster, machine, whole.tenant);
    for (const part of parts) {
      const id = `${namespace}/${part.metadata.name}`;
      if (mayHear && this.random.chance(0.5)) {
        beforeBringing(machine, namespace, whole);
        this.#bring(machine, id, whole, part);
      }
      const [current, copy] = [whole.parts.get(part.metadata.name), machine.copies.get(id)];
      const isTold = current !== undefined && copy?.told !== undefined;
      if (isTold && this.random.chance(0.5)) whole.report(current, copy.status(this.nowMs));
    }
  }

  #bring(machine: Machine, id: string, whole: Whole, part: Workload): void {
    const copy = machine.copies.get(id);
    if (part.metadata.deletionTimestamp !== undefined) {
      copy?.halt();
      if (copy !== undefined && copy.running > 0) return;
      machine.copies.delete(id);
      whole.forget(part.metadata.name);
      return;
    }
    const held = whole.hold(part);
    const made = copy ?? whole.kind.copy(this.random.fork());
    machine.copies.set(id, made);
    made.receive(held);
  }

  /** A SyncTarget that is deleted goes when nothing is assigned to it, or after a while; whoever took the cluster down sees to what ran there. */
  #leave(name: string, machine: Machine): void {
    const target = this.targets.get(name);
    if (target?.isDeleting !== true) return;
    target.leavingSinceMs ??= this.nowMs;
    const isEmpty = this.wholes.every((whole) => whole.partsIn(name).length === 0);
    if (!isEmpty && this.nowMs < target.leavingSinceMs + leavingMsMax) return;
    this.targets.delete(name);
    machine.copies.clear();
    machine.isUp = false;
    this.note(`${name} has left`);
    for (const whole of this.wholes) {
      for (const part of whole.partsIn(name)) whole.forget(part.metadata.name);
      // Their data is gone with it.
      for (const [number, claim] of whole.claims)
        if (claim.home === name) whole.claims.delete(number);
    }
  }

  #lookAtDrain(name: string, target: FleetTarget): void {
    const { drainSpec: spec } = target;
    const occupants = this.#occupantsOf(name);
    if (spec === undefined) {
      target.drainStatus = undefined;
      for (const { whole, part, isMarked } of occupants)
        if (isMarked) whole.annotatePart(part, { [evictAnnotation]: null });
      return;
    }
    const leftover = undefined;
    const known = target.drainStatus;
    const facts = { known, occupants, leftover, wasDrained: false, nowMs: this.nowMs };
    const step = this.#product.drainStep({ target: name, spec, ...facts });
    target.drainStatus = step.status;
    for (const one of step.toMark) {
      const { whole, part } = one as FleetOccupant;
      whole.annotatePart(part, { [evictAnnotation]: "true" });
    }
  }

  #occupantsOf(cluster: string): readonly FleetOccupant[] {
    return this.wholes.flatMap((whole) =>
      whole.partsIn(cluster).map((part): FleetOccupant => {
        const { name, annotations, deletionTimestamp } = part.metadata;
        const isGoing = deletionTimestamp !== undefined;
        const block = isGoing ? undefined : wholeBlock(whole.parent, cluster);
        const { replicas } = whole.kind.strategy.shareOf(part);
        return {
          kind: part.kind,
          namespace: whole.tenant,
          name,
          replicas,
          isMarked: annotations?.[evictAnnotation] === "true",
          block,
          whole,
          part: name,
        };
      }),
    );
  }

  /** Reads now or, at times, has read a while ago; and may be stopped in the middle of its writes. */
  coordinate(whole: Whole): void {
    const fresh = whole.seen();
    const known = this.#looks.get(whole);
    const seen = known !== undefined && this.random.chance(0.2) ? known : fresh;
    this.#looks.set(whole, fresh);
    const decision = this.#decide(whole, seen);
    const state = this.#state(whole);
    const mishap = this.random.chance(0.1) ? this.random.integer(4) : Number.POSITIVE_INFINITY;
    const before = whole.writes;
    this.#execute(whole, decision, seen, mishap);
    if (mishap !== Number.POSITIVE_INFINITY) this.#restart();
    // There is one coordinator, and it reads what it wrote: only what others do can be news to it.
    if (whole.writes > before) this.#looks.delete(whole);
    const isDone = whole.writes === before && mishap === Number.POSITIVE_INFINITY && seen === fresh;
    if (isDone) this.#settled.set(whole, { state, untilMs: decision.wakeAtMs ?? Infinity });
    else this.#settled.delete(whole);
  }

  #decide(whole: Whole, { parent, parts, related }: Seen): Decision {
    const targets = [...this.#seenTargets.values()];
    const { strategy } = whole.kind;
    const facts = { takenNames: new Set<string>(), targets, patience, nowMs: this.nowMs };
    const known = { strategy, parent, parts, related, ...facts };
    const { bounds } = this;
    if (bounds === undefined) return this.#product.decide(known);
    bounds.see(this.wholes);
    const surroundings = bounds.facts(whole);
    const decision = this.#product.decide({ ...known, surroundings });
    checkPromises(this, bounds, { whole, read: parent }, () => bounds.hold(whole, decision));
    return decision;
  }

  /** Who begins anew looks at everything: nobody is known to wait before. */
  #restart(): void {
    if (this.bounds === undefined) return;
    this.bounds.restart();
    this.#settled.clear();
  }

  /** Locations allow more or less: everybody looks. */
  changeBounds(change: (bounds: FleetBounds) => string): void {
    if (this.bounds === undefined) return;
    this.note(change(this.bounds));
    this.#settled.clear();
  }

  #isNews(whole: Whole): boolean {
    const known = this.#settled.get(whole);
    return known === undefined || this.nowMs >= known.untilMs || known.state !== this.#state(whole);
  }

  #state(whole: Whole): string {
    const claims = whole.kind.hasClaims === true ? JSON.stringify(whole.seen().related) : "";
    return `${whole.version} ${this.#targetsVersion} ${claims}`;
  }

  #execute(whole: Whole, decision: Decision, seen: Seen, writesMax: number): void {
    let left = writesMax;
    const may = () => left-- > 0;
    const { annotations, obsolete } = decision;
    if (annotations !== undefined || obsolete !== undefined) {
      // With the version that was read: somebody else's write makes it fail.
      if (whole.parent !== seen.parent || !may()) return;
      const gone = Object.fromEntries((obsolete ?? []).map((name) => [name, null]));
      beforeAsking(this, annotations);
      whole.annotate({ ...annotations, ...gone });
      whole.writes++;
      return;
    }
    for (const part of decision.creations) {
      if (!may()) return;
      beforeCreation(this, whole, part as Workload, seen);
      if (!whole.create(part)) return;
    }
    for (const part of decision.updates) {
      if (!whole.isCurrent(part) || !may()) return;
      checkedWrite(this, whole, part, seen, () => whole.update(part));
    }
    for (const part of decision.cuts) {
      if (!whole.isCurrent(part) || !may()) return;
      checkedWrite(this, whole, part, seen, () => whole.update(part));
    }
    for (const part of decision.removals) {
      if (!whole.isCurrent(part) || !may()) return;
      checkedWrite(this, whole, part, seen, () => whole.remove(part, this.nowMs));
    }
    const { placementHistory } = decision;
    if (placementHistory !== undefined && whole.parent === seen.parent && may()) {
      whole.annotate({ [placementHistoryAnnotation]: placementHistory });
      whole.writes++;
      return;
    }
    const { status } = whole.parent;
    const isSaid =
      decision.status === status || JSON.stringify(decision.status) === JSON.stringify(status);
    if (!isSaid && whole.parent === seen.parent && may()) whole.say(decision.status);
  }
}

/** As whoever decides sees it. */
function asTarget(target: FleetTarget): Target {
  const { drainSpec, isReady, changedAtMs } = target;
  const silentSinceMs = isReady ? undefined : changedAtMs;
  const drain = drainSpec && (drainSpec.budget === undefined ? "all" : "inTurn");
  return { ...target, drain, synced, lease: { durationMs: leaseMs, silentSinceMs } };
}

interface FleetOccupant extends Occupant {
  readonly whole: Whole;
  readonly part: string;
}

const synced = [...fleetKinds.map(({ strategy }) => strategy.name), "persistentvolumeclaims"];

export { clusterOf };
