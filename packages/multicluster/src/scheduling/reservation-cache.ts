/**
 * The reservation cache: the reserved resources of each cluster, by all workloads of all
 * workspaces, and the clusters of each workload.
 *
 * Its content comes from WorkloadPlacements. The cache also holds decisions that watches have not
 * delivered yet, so that two consecutive decisions do not reserve the same capacity. Of the
 * observed and the reserved amounts the maximum counts: while replicas move, both clusters are
 * occupied.
 */
import type { StringMap } from "@kcp-ts/sdk";
import type { ExistingWorkload } from "./affinity.ts";
import type { InFlightByCluster } from "./in-flight.ts";
import { addTo, maxOfEach, noResources, type ResourceAmounts } from "./resource-amounts.ts";

/** The key of a workload: its logical cluster, namespace, kind and name. */
export interface WorkloadKey {
  readonly cluster: string;
  readonly namespace: string;
  /** The kind and its group, such as `Deployment.apps`. */
  readonly resource: string;
  readonly name: string;
}

export interface ObservedCopy extends WorkloadKey {
  /** Unique among all per-cluster objects. */
  readonly key: string;
  readonly target: string;
  readonly labels: StringMap;
  readonly amounts: ResourceAmounts;
  /** The copy's cluster is Unreachable. */
  readonly isUnreachable?: boolean | undefined;
}

export interface ReservationCacheOptions {
  /** One key for each physical cluster, whatever name its SyncTarget has in a workspace. */
  readonly clusterKeyOf?: (cluster: string, target: string) => string;
  /** Called when resources of a cluster are released. */
  readonly onFreed?: (place: string) => void;
  /** Called when the sum of a cluster has changed. */
  readonly onChanged?: (place: string) => void;
  /** Called when the clusters of a workload have changed. */
  readonly onMoved?: (workload: WorkloadKey) => void;
}

interface ReservedWorkload extends WorkloadKey {
  labels: StringMap;
  readonly cells: Map<string, ClusterReservation>;
}

/** The reservation of one workload in one cluster. */
interface ClusterReservation {
  readonly target: string;
  /** By per-cluster object: one, except for short times. */
  observed: Map<string, ResourceAmounts> | undefined;
  /** Replicas in flight from another cluster. */
  inFlight: ResourceAmounts | undefined;
  reserved: ResourceAmounts | undefined;
  counted: ResourceAmounts;
}

export class ReservationCache {
  readonly #options: ReservationCacheOptions;
  /** The key of the physical cluster that a SyncTarget of a workspace stands for. */
  readonly clusterKeyOf: (cluster: string, target: string) => string;
  readonly #workloads = new Map<string, ReservedWorkload>();
  readonly #byNamespace = new Map<string, Set<ReservedWorkload>>();
  readonly #places = new Map<string, Map<string, number>>();
  /** By logical cluster, and within it by target. */
  readonly #workspaces = new Map<string, Map<string, Map<string, number>>>();
  readonly #parts = new Map<string, ObservedCopy>();

  constructor(options: ReservationCacheOptions = {}) {
    this.#options = options;
    this.clusterKeyOf = options.clusterKeyOf ?? ((cluster, target) => `${cluster}|${target}`);
  }

  observe(copy: ObservedCopy): void {
    const before = this.#parts.get(copy.key);
    if (before !== undefined && !isSameReservation(before, copy)) this.forgetCopy(copy.key);
    this.#parts.set(copy.key, copy);
    const workload = this.#whole(copy);
    workload.labels = copy.labels;
    const isNew = !workload.cells.has(copy.target) || before?.isUnreachable !== copy.isUnreachable;
    const cell = this.#cell(workload, copy.target);
    cell.observed = (cell.observed ?? new Map()).set(copy.key, copy.amounts);
    this.#count(workload, copy.target);
    if (isNew) this.#options.onMoved?.(copy);
  }

  forgetCopy(key: string): void {
    const copy = this.#parts.get(key);
    if (copy === undefined) return;
    this.#parts.delete(key);
    const workload = this.#whole(copy);
    workload.cells.get(copy.target)?.observed?.delete(key);
    this.#count(workload, copy.target);
    if (!workload.cells.has(copy.target)) this.#options.onMoved?.(copy);
  }

  /** Reserves the decision about a workload, by target; replaces its previous reservation. */
  reserve(
    name: WorkloadKey,
    held: ReadonlyMap<string, ResourceAmounts>,
    labels: StringMap = {},
  ): void {
    this.#put(name, "reserved", held, labels);
  }

  /** Records the in-flight replicas of a workload, by destination; replaces its previous record. */
  observeInFlight(name: WorkloadKey, all: InFlightByCluster, labels: StringMap = {}): void {
    if (all.size === 0 && !this.#workloads.has(idOf(name))) return;
    const amounts = new Map([...all].map(([target, { reserved }]) => [target, reserved]));
    this.#put(name, "inFlight", amounts, labels);
  }

  #put(
    name: WorkloadKey,
    what: "reserved" | "inFlight",
    amounts: ReadonlyMap<string, ResourceAmounts>,
    labels: StringMap,
  ): void {
    const workload = this.#whole(name);
    if (workload.cells.size === 0) workload.labels = labels;
    const before = [...workload.cells.keys()];
    let isMoved = false;
    for (const target of new Set([...before, ...amounts.keys()])) {
      if (!workload.cells.has(target)) isMoved = true;
      this.#cell(workload, target)[what] = amounts.get(target);
      this.#count(workload, target);
    }
    if (workload.cells.size === 0) this.#forget(workload);
    if (isMoved || before.some((target) => !workload.cells.has(target)))
      this.#options.onMoved?.(workload);
  }

  /**
   * The amount of a resource that all other workloads reserve in a target. The function reads the
   * current state: callers must not keep its results.
   */
  usedByOthers(name: WorkloadKey): (target: string, home?: string) => (resource: string) => number {
    const cells = this.#workloads.get(idOf(name))?.cells;
    return (target, home = name.cluster) => {
      const sum = this.#places.get(this.clusterKeyOf(home, target)) ?? noResources;
      const own = cells?.get(target)?.counted ?? noResources;
      return (resource) => (sum.get(resource) ?? 0) - (own.get(resource) ?? 0);
    };
  }

  /** The sum over several clusters, of all other workloads of the same workspace. */
  usedInWorkspace(name: WorkloadKey, targets: readonly string[]): ResourceAmounts {
    const sum = new Map<string, number>();
    const own = this.#workloads.get(idOf(name));
    for (const target of targets) {
      addTo(sum, this.#workspaces.get(name.cluster)?.get(target) ?? noResources);
      addTo(sum, own?.cells.get(target)?.counted ?? noResources, -1);
    }
    return sum;
  }

  reserved(cluster: string, target: string): ResourceAmounts {
    return this.#places.get(this.clusterKeyOf(cluster, target)) ?? noResources;
  }

  /** The other workloads of the namespace, of all kinds. */
  existingWorkloads(
    name: WorkloadKey,
  ): readonly (ExistingWorkload & Pick<WorkloadKey, "resource">)[] {
    const own = idOf(name);
    const workloads = this.#byNamespace.get(`${name.cluster}|${name.namespace}`) ?? [];
    return [...workloads]
      .filter((one) => idOf(one) !== own)
      .map(({ name, resource, labels, cells }) => {
        const clusters = [...cells.keys()];
        return { name, resource, labels, clusters, unreachableClusters: this.#lostOf(cells) };
      });
  }

  /** The clusters in which all observed copies are Unreachable; undefined when there are none. */
  #lostOf(cells: ReservedWorkload["cells"]): ReadonlySet<string> | undefined {
    let unreachable: Set<string> | undefined;
    for (const [target, { observed }] of cells) {
      if (observed === undefined || observed.size === 0) continue;
      const isLost = [...observed.keys()].every(
        (key) => this.#parts.get(key)?.isUnreachable === true,
      );
      if (isLost) unreachable = (unreachable ?? new Set()).add(target);
    }
    return unreachable;
  }

  #whole({ cluster, namespace, resource, name }: WorkloadKey): ReservedWorkload {
    const id = idOf({ cluster, namespace, resource, name });
    let workload = this.#workloads.get(id);
    if (workload === undefined) {
      workload = { cluster, namespace, resource, name, labels: {}, cells: new Map() };
      this.#workloads.set(id, workload);
      const scope = `${cluster}|${namespace}`;
      const known = this.#byNamespace.get(scope);
      if (known === undefined) this.#byNamespace.set(scope, new Set([workload]));
      else known.add(workload);
    }
    return workload;
  }

  #cell(workload: ReservedWorkload, target: string): ClusterReservation {
    let cell = workload.cells.get(target);
    if (cell === undefined) {
      cell = {
        target,
        observed: undefined,
        inFlight: undefined,
        reserved: undefined,
        counted: noResources,
      };
      workload.cells.set(target, cell);
    }
    return cell;
  }

  #count(workload: ReservedWorkload, target: string): void {
    const cell = workload.cells.get(target);
    if (cell === undefined) return;
    const { reserved, inFlight } = cell;
    let observed = inFlight ?? noResources;
    for (const amounts of cell.observed?.values() ?? [])
      observed = observed === noResources ? amounts : total(observed, amounts);
    const counted =
      reserved === undefined
        ? observed
        : observed.size === 0
          ? reserved
          : maxOfEach(observed, reserved);
    const before = cell.counted;
    cell.counted = counted;
    this.#move(workload, target, before, counted);
    if ((cell.observed?.size ?? 0) > 0 || reserved !== undefined || inFlight !== undefined) return;
    workload.cells.delete(target);
    if (workload.cells.size === 0) this.#forget(workload);
  }

  #move(
    { cluster }: ReservedWorkload,
    target: string,
    before: ResourceAmounts,
    after: ResourceAmounts,
  ): void {
    if (isSame(before, after)) return;
    const place = this.clusterKeyOf(cluster, target);
    const targets = this.#workspaces.get(cluster) ?? new Map<string, Map<string, number>>();
    this.#workspaces.set(cluster, targets);
    for (const [sums, key] of [
      [this.#places, place],
      [targets, target],
    ] as const) {
      const sum = sums.get(key) ?? new Map<string, number>();
      addTo(sum, before, -1);
      addTo(sum, after);
      if (sum.size === 0) sums.delete(key);
      else sums.set(key, sum);
    }
    if (targets.size === 0) this.#workspaces.delete(cluster);
    this.#options.onChanged?.(place);
    if ([...before].some(([name, amount]) => amount > (after.get(name) ?? 0)))
      this.#options.onFreed?.(place);
  }

  #forget(workload: ReservedWorkload): void {
    this.#workloads.delete(idOf(workload));
    const scope = `${workload.cluster}|${workload.namespace}`;
    const known = this.#byNamespace.get(scope);
    known?.delete(workload);
    if (known?.size === 0) this.#byNamespace.delete(scope);
  }
}

function idOf({ cluster, namespace, resource, name }: WorkloadKey): string {
  return `${cluster}|${namespace}/${resource}/${name}`;
}

function isSameReservation(one: ObservedCopy, other: ObservedCopy): boolean {
  return idOf(one) === idOf(other) && one.target === other.target;
}

function total(one: ResourceAmounts, other: ResourceAmounts): ResourceAmounts {
  const sum = new Map(one);
  addTo(sum, other);
  return sum;
}

function isSame(one: ResourceAmounts, other: ResourceAmounts): boolean {
  if (one.size !== other.size) return false;
  for (const [name, amount] of one) if (other.get(name) !== amount) return false;
  return true;
}
