/**
 * Simulated clusters without servers: clusters that several tenants share, workloads of every kind,
 * and the controllers that coordinate, drain, sync and move claims; each controller reconciles
 * late, from stale state at times, and may be stopped between any two of its writes. One seed
 * determines everything.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { SeededRandom } from "@kcp-ts/testkit";
import {
  type DrainSpec,
  type DrainStatus,
  evictAnnotation,
  isFenceable,
} from "../../../api/index.ts";
import { type DrainedObject, pendingReasonOf } from "../../../drain/index.ts";
import {
  type ClusterEvaluation,
  type ClusterInfo,
  evaluateCluster,
  type GracePeriods,
} from "../../cluster-state.ts";
import type { Decision } from "../../decide.ts";
import { isSameDecision, isSameRecord } from "../../placement-record.ts";
import { failoverStrategyAnnotation } from "../../rollout-policy.ts";
import type { Workload } from "../../workload.ts";
import { leaseMs, stopLateMsMax } from "../lease.ts";
import { type Implementation, implementation as realProduct } from "./implementation.ts";
import {
  checkAfterStep,
  checkBeforeCreation,
  checkBeforeDelivery,
  checkBeforeVolumeRequest,
  checkedWrite,
} from "./invariants.ts";
import { checkReservations } from "./limit-invariants.ts";
import { LocationLimitsModel } from "./location-limits.ts";
import { CronJobCopy, type SimulatedCopy, StatefulSetCopy, startOf } from "./simulated-copies.ts";
import { simulatedKinds } from "./simulated-kinds.ts";
import { clusterOf, type ObservedWorkload, SimulatedWorkload } from "./simulated-workload.ts";
import { moveClaims } from "./volume-claims.ts";

export const gracePeriods: GracePeriods = { unreachableAfterMs: 30_000, recoveryMs: 5000 };
export const tickMs = 500;
/** How long a SyncTarget that is being deleted waits for its objects. */
export const drainMsMax = 120_000;

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

export class PhysicalCluster {
  /** The copies of the cluster, by namespace and name. */
  readonly copies = new Map<string, SimulatedCopy>();
  /** The tenant of each namespace. */
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
  readonly implementation?: Implementation | undefined;
  /** Whether Locations limit the tenants' use. */
  readonly isLimited?: boolean | undefined;
  /** Whether users edit and delete copies. */
  readonly areCopiesEdited?: boolean | undefined;
}

export interface SimulatedTarget extends Mutable<ClusterInfo> {
  drainSpec: DrainSpec | undefined;
  drainStatus: DrainStatus | undefined;
  deletingSinceMs: number | undefined;
}

export class ClusterSet {
  readonly random: SeededRandom;
  readonly history: string[] = [];
  readonly clusters = new Map<string, PhysicalCluster>();
  readonly targets = new Map<string, SimulatedTarget>();
  readonly workloads: SimulatedWorkload[] = [];
  nowMs = Date.UTC(2026, 0, 1);
  /** Nothing happens any more: no schedule is due. */
  isAtRest = false;
  #targetsText = "";
  #targetsVersion = 0;
  #seenTargets: ReadonlyMap<string, ClusterInfo> = new Map();
  readonly #evaluations = new Map<string, ClusterEvaluation>();
  readonly #looks = new Map<SimulatedWorkload, ObservedWorkload>();
  readonly #settled = new Map<
    SimulatedWorkload,
    { readonly state: string; readonly untilMs: number }
  >();
  readonly #implementation: Implementation;
  readonly #namespaces = new Map<string, string>();
  /** The Locations that limit the tenants' use; undefined without limits. */
  readonly limits: LocationLimitsModel | undefined;
  #joins = 0;

  constructor(
    seed: number,
    { implementation = realProduct, isLimited = false }: ClusterSetOptions = {},
  ) {
    this.random = new SeededRandom(seed);
    this.#implementation = implementation;
    const onNews = (workload: SimulatedWorkload) => this.#settled.delete(workload);
    this.limits = isLimited ? new LocationLimitsModel(seed, onNews) : undefined;
    const count = 2 + this.random.integer(3);
    for (let index = 0; index < count; index++) this.#deploy(`tenant-${this.random.integer(2)}`);
  }

  note(text: string): void {
    this.history.push(`${((this.nowMs - Date.UTC(2026, 0, 1)) / 1000).toFixed(1)}s ${text}`);
  }

  #deploy(tenant: string): void {
    const kind = this.random.pick(simulatedKinds);
    if (this.workloads.some((one) => one.tenant === tenant && one.kind === kind)) return;
    const isStopBeforeStart =
      kind.invariants === "finite" ? this.random.seed % 4 === 0 : this.random.chance(0.25);
    const spec = kind.spec(this.random);
    const workload = new SimulatedWorkload({ tenant, kind, isStopBeforeStart }, spec, (text) =>
      this.note(text),
    );
    if (isStopBeforeStart) workload.annotate({ [failoverStrategyAnnotation]: "StopBeforeStart" });
    this.note(
      `${workload.name}${isStopBeforeStart ? " (at most one)" : ""}: ${JSON.stringify(spec)}`,
    );
    this.workloads.push(workload);
  }

  get writes(): number {
    return this.workloads.reduce((sum, { writes }) => sum + writes, 0);
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
      isDeleting: false,
      synced: undefined,
      drainSpec: undefined,
      drainStatus: undefined,
      deletingSinceMs: undefined,
      allocatable: undefined,
    } as unknown as SimulatedTarget);
    this.note(`${name} joins in ${labels.zone}`);
  }

  /** The evaluation of the last update of the clusters. */
  evaluation(name: string): ClusterEvaluation {
    const known = this.#evaluations.get(name);
    if (known !== undefined) return known;
    const judged = evaluateCluster(this.#seenTargets.get(name), this.nowMs, gracePeriods);
    this.#evaluations.set(name, judged);
    return judged;
  }

  /** Clusters change only between two updates. */
  #lookAtTargets(): void {
    const text = JSON.stringify([...this.targets.values()]);
    this.#evaluations.clear();
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
      for (const workload of this.workloads) this.#sync(name, machine, workload);
      for (const copy of machine.copies.values()) {
        if (copy instanceof CronJobCopy) copy.mayStart = !this.isAtRest;
        copy.step(this.nowMs, machine.isBroken);
      }
      this.#leave(name, machine);
    }
    for (const [name, target] of this.targets)
      if (this.random.chance(0.4)) this.#lookAtDrain(name, target);
    this.#lookAtTargets();
    this.limits?.observe(this.workloads);
    for (const workload of this.workloads) {
      if (workload.kind.hasClaims === true) moveClaims(this, workload);
      if (this.random.chance(0.6) && this.#isNews(workload)) this.coordinate(workload);
      checkAfterStep(this, workload);
    }
  }

  /** The namespace of a tenant's objects in a cluster. */
  namespaceOf(cluster: string, { uid }: PhysicalCluster, tenant: string): string {
    const key = `${uid} ${tenant}`;
    const known = this.#namespaces.get(key);
    if (known !== undefined) return known;
    const identity = { name: cluster, cluster: "compute", uid };
    const at = { cluster: tenant as ClusterName, namespace: "demo" };
    const namespace = this.#implementation.namespaceOf(identity, at);
    this.#namespaces.set(key, namespace);
    return namespace;
  }

  copyOf(
    workload: SimulatedWorkload,
    { metadata: { name } }: Workload,
    cluster: string,
  ): SimulatedCopy | undefined {
    const machine = this.clusters.get(cluster);
    if (machine === undefined) return undefined;
    return machine.copies.get(`${this.namespaceOf(cluster, machine, workload.tenant)}/${name}`);
  }

  /** The copies of a workload, by cluster. */
  copiesOf(
    workload: SimulatedWorkload,
  ): readonly (readonly [cluster: string, copy: SimulatedCopy])[] {
    const found: (readonly [string, SimulatedCopy])[] = [];
    for (const [cluster, machine] of this.clusters) {
      if (machine.copies.size === 0) continue;
      const namespace = this.namespaceOf(cluster, machine, workload.tenant);
      const prefix = `${namespace}/${workload.kind.name}--`;
      for (const [id, copy] of machine.copies)
        if (id.startsWith(prefix)) found.push([cluster, copy]);
    }
    return found;
  }

  /** Whether an ordinal runs in a cluster, or may start there without another decision. */
  mayRun(workload: SimulatedWorkload, cluster: string, number: number): boolean {
    const isTold = workload.copiesIn(cluster).some((copy) => {
      const { replicas } = workload.kind.strategy.shareOf(copy);
      const start = startOf(copy.spec);
      return number >= start && number < start + replicas;
    });
    if (isTold) return true;
    return this.copiesOf(workload).some(([where, copy]) => {
      if (where !== cluster || !(copy instanceof StatefulSetCopy)) return false;
      const { start, end } = copy.range;
      return copy.ordinals.has(number) || (number >= start && number < end);
    });
  }

  #watchHealth(name: string, physicalCluster: PhysicalCluster): void {
    const target = this.targets.get(name);
    if (target === undefined || target.isReady === physicalCluster.isUp) return;
    if (!this.random.chance(0.3)) return;
    target.isReady = physicalCluster.isUp;
    target.changedAtMs = this.nowMs;
    this.note(`${name} is ${target.isReady ? "Ready" : "not Ready"}`);
  }

  /** Heartbeats count while the SyncTarget is Ready. */
  #keepLease(name: string, physicalCluster: PhysicalCluster): void {
    if (physicalCluster.isUp && this.targets.get(name)?.isReady === true) {
      physicalCluster.leaseUntilMs = this.nowMs + leaseMs;
      physicalCluster.stopsAtMs = physicalCluster.leaseUntilMs + this.random.integer(stopLateMsMax);
    } else if (this.nowMs >= physicalCluster.stopsAtMs) {
      // The workloads that the agent can stop.
      const isStopped = ({ isStopBeforeStart, kind }: SimulatedWorkload) =>
        isStopBeforeStart && isFenceable(kind.strategy.copies);
      for (const workload of this.workloads.filter(isStopped))
        for (const [cluster, copy] of this.copiesOf(workload))
          if (cluster === name) {
            copy.stopAll();
            copy.breakPods();
          }
    }
  }

  #sync(cluster: string, physicalCluster: PhysicalCluster, workload: SimulatedWorkload): void {
    if (!physicalCluster.isUp || !this.targets.has(cluster)) return;
    // Without its lease, an agent starts no StopBeforeStart workload.
    const mayHear = !workload.isStopBeforeStart || this.nowMs < physicalCluster.leaseUntilMs;
    const copies = workload.copiesIn(cluster);
    if (copies.length === 0) return;
    const namespace = this.namespaceOf(cluster, physicalCluster, workload.tenant);
    for (const part of copies) {
      const id = `${namespace}/${part.metadata.name}`;
      if (mayHear && this.random.chance(0.5)) {
        checkBeforeDelivery(physicalCluster, namespace, workload);
        this.#bring(physicalCluster, id, workload, part);
      }
      const [current, copy] = [
        workload.copies.get(part.metadata.name),
        physicalCluster.copies.get(id),
      ];
      const isTold = current !== undefined && copy?.delivered !== undefined;
      if (isTold && this.random.chance(0.5)) workload.report(current, copy.status(this.nowMs));
    }
  }

  #bring(
    physicalCluster: PhysicalCluster,
    id: string,
    workload: SimulatedWorkload,
    part: Workload,
  ): void {
    const copy = physicalCluster.copies.get(id);
    if (part.metadata.deletionTimestamp !== undefined) {
      copy?.stopAll();
      if (copy !== undefined && copy.running > 0) return;
      physicalCluster.copies.delete(id);
      workload.forget(part.metadata.name);
      return;
    }
    const held = workload.blockDisruption(part);
    const made = copy ?? workload.kind.copy(this.random.fork());
    physicalCluster.copies.set(id, made);
    made.receive(held);
  }

  /**
   * A SyncTarget that is being deleted is gone when nothing is assigned to it, or after a timeout;
   * its administrator stops the remaining Pods.
   */
  #leave(name: string, physicalCluster: PhysicalCluster): void {
    const target = this.targets.get(name);
    if (target?.isDeleting !== true) return;
    target.deletingSinceMs ??= this.nowMs;
    const isEmpty = this.workloads.every((workload) => workload.copiesIn(name).length === 0);
    if (!isEmpty && this.nowMs < target.deletingSinceMs + drainMsMax) return;
    this.targets.delete(name);
    physicalCluster.copies.clear();
    physicalCluster.isUp = false;
    this.note(`${name} has left`);
    for (const workload of this.workloads) {
      for (const copy of workload.copiesIn(name)) workload.forget(copy.metadata.name);
      // The data is lost with the cluster.
      for (const [number, claim] of workload.claims)
        if (claim.home === name) workload.claims.delete(number);
    }
  }

  #lookAtDrain(name: string, target: SimulatedTarget): void {
    const { drainSpec: spec } = target;
    const objects = this.#occupantsOf(name);
    if (spec === undefined) {
      target.drainStatus = undefined;
      for (const { workload, copy, isEvicting } of objects)
        if (isEvicting) workload.annotateCopy(copy, { [evictAnnotation]: null });
      return;
    }
    const heldObject = undefined;
    const previousStatus = target.drainStatus;
    const facts = { previousStatus, objects, heldObject, wasDrained: false, nowMs: this.nowMs };
    const step = this.#implementation.drainStep({ target: name, spec, ...facts });
    target.drainStatus = step.status;
    for (const one of step.toEvict) {
      const { workload, copy } = one as SimulatedOccupant;
      workload.annotateCopy(copy, { [evictAnnotation]: "true" });
    }
  }

  #occupantsOf(cluster: string): readonly SimulatedOccupant[] {
    return this.workloads.flatMap((workload) =>
      workload.copiesIn(cluster).map((copy): SimulatedOccupant => {
        const { name, annotations, deletionTimestamp } = copy.metadata;
        const isGoing = deletionTimestamp !== undefined;
        const pending = isGoing
          ? undefined
          : pendingReasonOf(workload.parent, cluster, workload.record, this.nowMs);
        const { replicas } = workload.kind.strategy.shareOf(copy);
        return {
          kind: copy.kind,
          namespace: workload.tenant,
          name,
          replicas,
          isEvicting: annotations?.[evictAnnotation] === "true",
          isDependency: false,
          pending,
          workload,
          copy: name,
        };
      }),
    );
  }

  /**
   * Reconciles from the current or, at times, from a stale state; and may be stopped between its
   * writes.
   */
  coordinate(workload: SimulatedWorkload): void {
    const fresh = workload.observed();
    const known = this.#looks.get(workload);
    const observed = known !== undefined && this.random.chance(0.2) ? known : fresh;
    this.#looks.set(workload, fresh);
    const decision = this.#decide(workload, observed);
    const state = this.#state(workload);
    const mishap = this.random.chance(0.1) ? this.random.integer(4) : Number.POSITIVE_INFINITY;
    const before = workload.writes;
    this.#execute(workload, decision, observed, mishap);
    if (mishap !== Number.POSITIVE_INFINITY) this.#restart();
    // One coordinator runs, and it reads its own writes: only other writers make its state stale.
    if (workload.writes > before) this.#looks.delete(workload);
    const isDone =
      workload.writes === before && mishap === Number.POSITIVE_INFINITY && observed === fresh;
    if (isDone) this.#settled.set(workload, { state, untilMs: decision.requeueAtMs ?? Infinity });
    else this.#settled.delete(workload);
  }

  #decide(workload: SimulatedWorkload, observed: ObservedWorkload): Decision {
    const { parent, record, copies, related } = observed;
    const targets = [...this.#seenTargets.values()];
    const { strategy } = workload.kind;
    const facts = {
      takenNames: new Set<string>(),
      targets,
      gracePeriods: gracePeriods,
      nowMs: this.nowMs,
    };
    const known = { strategy, parent, record, copies, related, ...facts };
    const { limits } = this;
    if (limits === undefined) return this.#implementation.decide(known);
    limits.observe(this.workloads);
    const scheduling = limits.snapshot(workload);
    const decision = this.#implementation.decide({ ...known, scheduling });
    checkReservations(this, limits, { whole: workload, read: parent }, () =>
      limits.reserve(workload, decision),
    );
    return decision;
  }

  /** A restarted coordinator reconciles every workload: it knows of no waiting ones. */
  #restart(): void {
    if (this.limits === undefined) return;
    this.limits.restart();
    this.#settled.clear();
  }

  /** Changes the limits of Locations, and requeues every workload. */
  changeLimits(change: (limits: LocationLimitsModel) => string): void {
    if (this.limits === undefined) return;
    this.note(change(this.limits));
    this.#settled.clear();
  }

  #isNews(workload: SimulatedWorkload): boolean {
    const known = this.#settled.get(workload);
    return (
      known === undefined || this.nowMs >= known.untilMs || known.state !== this.#state(workload)
    );
  }

  #state(workload: SimulatedWorkload): string {
    const claims =
      workload.kind.hasClaims === true ? JSON.stringify(workload.observed().related) : "";
    return `${workload.version} ${this.#targetsVersion} ${claims}`;
  }

  #execute(
    workload: SimulatedWorkload,
    decision: Decision,
    observed: ObservedWorkload,
    writesMax: number,
  ): void {
    let left = writesMax;
    const may = () => left-- > 0;
    const { record } = decision;
    const isFirst = !isSameDecision(observed.record, record);
    if (isFirst) {
      // The write is conditional on the version that was read: another write makes it fail.
      if (workload.record !== observed.record || !may()) return;
      checkBeforeVolumeRequest(this, record);
      workload.writeRecord(record);
    }
    for (const copy of decision.creations) {
      if (!may()) return;
      checkBeforeCreation(this, workload, copy as Workload, observed);
      if (!workload.create(copy)) return;
    }
    for (const copy of decision.updates) {
      if (!workload.isCurrent(copy) || !may()) return;
      checkedWrite(this, workload, copy, observed, () => workload.update(copy));
    }
    for (const copy of decision.scaleDowns) {
      if (!workload.isCurrent(copy) || !may()) return;
      checkedWrite(this, workload, copy, observed, () => workload.update(copy));
    }
    for (const copy of decision.removals) {
      if (!workload.isCurrent(copy) || !may()) return;
      checkedWrite(this, workload, copy, observed, () => workload.remove(copy, this.nowMs));
    }
    const { status } = workload.parent;
    const isSaid =
      decision.status === status || JSON.stringify(decision.status) === JSON.stringify(status);
    if (!isSaid) {
      if (workload.parent === observed.parent && may()) workload.say(decision.status);
    } else if (!isFirst && !isSameRecord(observed.record, record) && may()) {
      if (workload.record === observed.record) workload.writeRecord(record);
    }
  }
}

/** The SyncTarget as the coordinator reads it. */
function asTarget(target: SimulatedTarget): ClusterInfo {
  const { drainSpec, isReady, changedAtMs } = target;
  const silentSinceMs = isReady ? undefined : changedAtMs;
  const drain = drainSpec && (drainSpec.budget === undefined ? "All" : "Budgeted");
  return { ...target, drain, synced, lease: { durationMs: leaseMs, silentSinceMs } };
}

interface SimulatedOccupant extends DrainedObject {
  readonly workload: SimulatedWorkload;
  readonly copy: string;
}

const synced = [...simulatedKinds.map(({ strategy }) => strategy.name), "persistentvolumeclaims"];

export { clusterOf };
