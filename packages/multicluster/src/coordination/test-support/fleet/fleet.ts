/**
 * A fleet without servers: clusters that several tenants share, workloads of every kind, and around them whoever coordinates, drains, syncs and moves claims; each looks
 * late, from an older state at times, and may be stopped between any two of its writes. Everything is drawn from one seed.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { SeededRandom } from "@kcp-ts/testkit";
import {
  type DrainSpec,
  type DrainStatus,
  evictAnnotation,
  isFenceable,
} from "../../../api/index.ts";
import { type DrainedObject, workloadBlock } from "../../../drain/index.ts";
import type { Decision } from "../../decide.ts";
import { placementHistoryAnnotation } from "../../placement-history.ts";
import { failoverStrategyAnnotation } from "../../rollout.ts";
import {
  type ClusterEvaluation,
  type ClusterInfo,
  evaluateCluster,
  type GracePeriods,
} from "../../standing.ts";
import type { Workload } from "../../workload.ts";
import { leaseMs, stopLateMsMax } from "../lease.ts";
import { LocationLimitsModel } from "./bounds.ts";
import { moveClaims } from "./claims.ts";
import { CronJobCopy, type SimulatedCopy, StatefulSetCopy, startOf } from "./copies.ts";
import { simulatedKinds } from "./fleet-kinds.ts";
import {
  checkAfterStep,
  checkBeforeCreation,
  checkBeforeDelivery,
  checkBeforeVolumeRequest,
  checkedWrite,
} from "./laws.ts";
import { checkReservations } from "./laws-of-bounds.ts";
import { type Implementation, implementation as realProduct } from "./product.ts";
import { clusterOf, type ObservedWorkload, SimulatedWorkload } from "./whole.ts";

export const gracePeriods: GracePeriods = { graceMs: 30_000, settleMs: 5000 };
export const tickMs = 500;
/** So long a cluster that leaves waits for what is there. */
export const drainMsMax = 120_000;

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

export class PhysicalCluster {
  /** By namespace and name, as the cluster knows them. */
  readonly copies = new Map<string, SimulatedCopy>();
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

export interface ClusterSetOptions {
  readonly product?: Implementation | undefined;
  /** Whether Locations bound what tenants use. */
  readonly isBounded?: boolean | undefined;
}

export interface SimulatedTarget extends Mutable<ClusterInfo> {
  drainSpec: DrainSpec | undefined;
  drainStatus: DrainStatus | undefined;
  leavingSinceMs: number | undefined;
}

export class ClusterSet {
  readonly random: SeededRandom;
  readonly history: string[] = [];
  readonly clusters = new Map<string, PhysicalCluster>();
  readonly targets = new Map<string, SimulatedTarget>();
  readonly wholes: SimulatedWorkload[] = [];
  nowMs = Date.UTC(2026, 0, 1);
  /** Nothing happens any more: no schedule is due. */
  isAtRest = false;
  #targetsText = "";
  #targetsVersion = 0;
  #seenTargets: ReadonlyMap<string, ClusterInfo> = new Map();
  readonly #judgements = new Map<string, ClusterEvaluation>();
  readonly #looks = new Map<SimulatedWorkload, ObservedWorkload>();
  readonly #settled = new Map<
    SimulatedWorkload,
    { readonly state: string; readonly untilMs: number }
  >();
  readonly #product: Implementation;
  readonly #namespaces = new Map<string, string>();
  /** Locations that bound what tenants use; undefined where nobody has any. */
  readonly bounds: LocationLimitsModel | undefined;
  #joins = 0;

  constructor(seed: number, { product = realProduct, isBounded = false }: ClusterSetOptions = {}) {
    this.random = new SeededRandom(seed);
    this.#product = product;
    const onNews = (whole: SimulatedWorkload) => this.#settled.delete(whole);
    this.bounds = isBounded ? new LocationLimitsModel(seed, onNews) : undefined;
    const count = 2 + this.random.integer(3);
    for (let index = 0; index < count; index++) this.#deploy(`tenant-${this.random.integer(2)}`);
  }

  note(text: string): void {
    this.history.push(`${((this.nowMs - Date.UTC(2026, 0, 1)) / 1000).toFixed(1)}s ${text}`);
  }

  #deploy(tenant: string): void {
    const kind = this.random.pick(simulatedKinds);
    if (this.wholes.some((one) => one.tenant === tenant && one.kind === kind)) return;
    const isOnce = kind.law === "ending" ? this.random.seed % 4 === 0 : this.random.chance(0.25);
    const spec = kind.spec(this.random);
    const whole = new SimulatedWorkload({ tenant, kind, isOnce }, spec, (text) => this.note(text));
    if (isOnce) whole.annotate({ [failoverStrategyAnnotation]: "true" });
    this.note(`${whole.name}${isOnce ? " (at most one)" : ""}: ${JSON.stringify(spec)}`);
    this.wholes.push(whole);
  }

  get writes(): number {
    return this.wholes.reduce((sum, { writes }) => sum + writes, 0);
  }

  join(name: string): void {
    this.clusters.set(name, new PhysicalCluster(`uid-${this.#joins++}`));
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
    } as unknown as SimulatedTarget);
    this.note(`${name} joins in ${labels.zone}`);
  }

  /** As of the last look at the clusters. */
  judgement(name: string): ClusterEvaluation {
    const known = this.#judgements.get(name);
    if (known !== undefined) return known;
    const judged = evaluateCluster(this.#seenTargets.get(name), this.nowMs, gracePeriods);
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
        if (copy instanceof CronJobCopy) copy.mayStart = !this.isAtRest;
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
      checkAfterStep(this, whole);
    }
  }

  /** The namespace that a tenant's objects are in, in a cluster. */
  namespaceOf(cluster: string, { uid }: PhysicalCluster, tenant: string): string {
    const key = `${uid} ${tenant}`;
    const known = this.#namespaces.get(key);
    if (known !== undefined) return known;
    const identity = { name: cluster, cluster: "compute", uid };
    const at = { cluster: tenant as ClusterName, namespace: "demo" };
    const namespace = this.#product.namespaceOf(identity, at);
    this.#namespaces.set(key, namespace);
    return namespace;
  }

  copyOf(
    whole: SimulatedWorkload,
    { metadata: { name } }: Workload,
    cluster: string,
  ): SimulatedCopy | undefined {
    const machine = this.clusters.get(cluster);
    if (machine === undefined) return undefined;
    return machine.copies.get(`${this.namespaceOf(cluster, machine, whole.tenant)}/${name}`);
  }

  /** By cluster. */
  copiesOf(whole: SimulatedWorkload): readonly (readonly [cluster: string, copy: SimulatedCopy])[] {
    const found: (readonly [string, SimulatedCopy])[] = [];
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
  mayRun(whole: SimulatedWorkload, cluster: string, number: number): boolean {
    const isTold = whole.partsIn(cluster).some((part) => {
      const { replicas } = whole.kind.strategy.shareOf(part);
      const start = startOf(part.spec);
      return number >= start && number < start + replicas;
    });
    if (isTold) return true;
    return this.copiesOf(whole).some(([where, copy]) => {
      if (where !== cluster || !(copy instanceof StatefulSetCopy)) return false;
      const { start, end } = copy.range;
      return copy.numbers.has(number) || (number >= start && number < end);
    });
  }

  #watchHealth(name: string, machine: PhysicalCluster): void {
    const target = this.targets.get(name);
    if (target === undefined || target.isReady === machine.isUp) return;
    if (!this.random.chance(0.3)) return;
    target.isReady = machine.isUp;
    target.changedAtMs = this.nowMs;
    this.note(`${name} is ${target.isReady ? "Ready" : "not Ready"}`);
  }

  /** Heartbeats count while the API says that they are heard. */
  #keepLease(name: string, machine: PhysicalCluster): void {
    if (machine.isUp && this.targets.get(name)?.isReady === true) {
      machine.leaseUntilMs = this.nowMs + leaseMs;
      machine.stopsAtMs = machine.leaseUntilMs + this.random.integer(stopLateMsMax);
    } else if (this.nowMs >= machine.stopsAtMs) {
      // Of what it knows how to stop.
      const isStopped = ({ isOnce, kind }: SimulatedWorkload) =>
        isOnce && isFenceable(kind.strategy.parts);
      for (const whole of this.wholes.filter(isStopped))
        for (const [cluster, copy] of this.copiesOf(whole))
          if (cluster === name) {
            copy.halt();
            copy.burn();
          }
    }
  }

  #sync(cluster: string, machine: PhysicalCluster, whole: SimulatedWorkload): void {
    if (!machine.isUp || !this.targets.has(cluster)) return;
    // Without its lease an agent starts nothing that may run once at most.
    const mayHear = !whole.isOnce || this.nowMs < machine.leaseUntilMs;
    const parts = whole.partsIn(cluster);
    if (parts.length === 0) return;
    const namespace = this.namespaceOf(cluster, machine, whole.tenant);
    for (const part of parts) {
      const id = `${namespace}/${part.metadata.name}`;
      if (mayHear && this.random.chance(0.5)) {
        checkBeforeDelivery(machine, namespace, whole);
        this.#bring(machine, id, whole, part);
      }
      const [current, copy] = [whole.parts.get(part.metadata.name), machine.copies.get(id)];
      const isTold = current !== undefined && copy?.told !== undefined;
      if (isTold && this.random.chance(0.5)) whole.report(current, copy.status(this.nowMs));
    }
  }

  #bring(machine: PhysicalCluster, id: string, whole: SimulatedWorkload, part: Workload): void {
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
  #leave(name: string, machine: PhysicalCluster): void {
    const target = this.targets.get(name);
    if (target?.isDeleting !== true) return;
    target.leavingSinceMs ??= this.nowMs;
    const isEmpty = this.wholes.every((whole) => whole.partsIn(name).length === 0);
    if (!isEmpty && this.nowMs < target.leavingSinceMs + drainMsMax) return;
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

  #lookAtDrain(name: string, target: SimulatedTarget): void {
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
      const { whole, part } = one as SimulatedOccupant;
      whole.annotatePart(part, { [evictAnnotation]: "true" });
    }
  }

  #occupantsOf(cluster: string): readonly SimulatedOccupant[] {
    return this.wholes.flatMap((whole) =>
      whole.partsIn(cluster).map((part): SimulatedOccupant => {
        const { name, annotations, deletionTimestamp } = part.metadata;
        const isGoing = deletionTimestamp !== undefined;
        const block = isGoing ? undefined : workloadBlock(whole.parent, cluster);
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
  coordinate(whole: SimulatedWorkload): void {
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

  #decide(whole: SimulatedWorkload, { parent, parts, related }: ObservedWorkload): Decision {
    const targets = [...this.#seenTargets.values()];
    const { strategy } = whole.kind;
    const facts = {
      takenNames: new Set<string>(),
      targets,
      patience: gracePeriods,
      nowMs: this.nowMs,
    };
    const known = { strategy, parent, parts, related, ...facts };
    const { bounds } = this;
    if (bounds === undefined) return this.#product.decide(known);
    bounds.see(this.wholes);
    const surroundings = bounds.facts(whole);
    const decision = this.#product.decide({ ...known, surroundings });
    checkReservations(this, bounds, { whole, read: parent }, () => bounds.hold(whole, decision));
    return decision;
  }

  /** Who begins anew looks at everything: nobody is known to wait before. */
  #restart(): void {
    if (this.bounds === undefined) return;
    this.bounds.restart();
    this.#settled.clear();
  }

  /** Locations allow more or less: everybody looks. */
  changeBounds(change: (bounds: LocationLimitsModel) => string): void {
    if (this.bounds === undefined) return;
    this.note(change(this.bounds));
    this.#settled.clear();
  }

  #isNews(whole: SimulatedWorkload): boolean {
    const known = this.#settled.get(whole);
    return known === undefined || this.nowMs >= known.untilMs || known.state !== this.#state(whole);
  }

  #state(whole: SimulatedWorkload): string {
    const claims = whole.kind.hasClaims === true ? JSON.stringify(whole.seen().related) : "";
    return `${whole.version} ${this.#targetsVersion} ${claims}`;
  }

  #execute(
    whole: SimulatedWorkload,
    decision: Decision,
    seen: ObservedWorkload,
    writesMax: number,
  ): void {
    let left = writesMax;
    const may = () => left-- > 0;
    const { annotations, obsolete } = decision;
    if (annotations !== undefined || obsolete !== undefined) {
      // With the version that was read: somebody else's write makes it fail.
      if (whole.parent !== seen.parent || !may()) return;
      const gone = Object.fromEntries((obsolete ?? []).map((name) => [name, null]));
      checkBeforeVolumeRequest(this, annotations);
      whole.annotate({ ...annotations, ...gone });
      whole.writes++;
      return;
    }
    for (const part of decision.creations) {
      if (!may()) return;
      checkBeforeCreation(this, whole, part as Workload, seen);
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
function asTarget(target: SimulatedTarget): ClusterInfo {
  const { drainSpec, isReady, changedAtMs } = target;
  const silentSinceMs = isReady ? undefined : changedAtMs;
  const drain = drainSpec && (drainSpec.budget === undefined ? "all" : "inTurn");
  return { ...target, drain, synced, lease: { durationMs: leaseMs, silentSinceMs } };
}

interface SimulatedOccupant extends DrainedObject {
  readonly whole: SimulatedWorkload;
  readonly part: string;
}

const synced = [...simulatedKinds.map(({ strategy }) => strategy.name), "persistentvolumeclaims"];

export { clusterOf };
