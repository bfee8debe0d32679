/**
 * The ledger: what is reserved of each cluster, by all workloads of all workspaces, and which workload is where.
 *
 * It is what the parts say in their annotation, and a whole of what is between two of them. What was decided a moment ago and cannot be seen yet is held besides, so that two decisions
 * in a row do not give away the same room. Of what is seen and what is held the greater counts: while replicas move, both places are taken.
 */
import type { StringMap } from "@kcp-ts/sdk";
import type { ExistingWorkload } from "./affinity.ts";
import { addTo, maxOfEach, noResources, type ResourceAmounts } from "./amounts.ts";
import type { InFlightByCluster } from "./under-way.ts";

/** Of a workload: its logical cluster, namespace, resource, and the name that its parts have for it. */
export interface WorkloadKey {
  readonly cluster: string;
  readonly namespace: string;
  readonly resource: string;
  readonly name: string;
}

export interface ObservedCopy extends WorkloadKey {
  /** Unique among all parts. */
  readonly key: string;
  readonly target: string;
  readonly labels: StringMap;
  readonly amounts: ResourceAmounts;
  /** Its cluster is lost. */
  readonly isLost?: boolean | undefined;
}

export interface ReservationCacheOptions {
  /** One text for one physical cluster, by whatever name the SyncTarget goes in a workspace. */
  readonly placeOf?: (cluster: string, target: string) => string;
  /** Something of a cluster is free again. */
  readonly onFreed?: (place: string) => void;
  /** The sum of a cluster has changed. */
  readonly onChanged?: (place: string) => void;
  /** A workload is in other clusters than before. */
  readonly onMoved?: (whole: WorkloadKey) => void;
}

interface ReservedWorkload extends WorkloadKey {
  labels: StringMap;
  readonly cells: Map<string, ClusterReservation>;
}

/** What one workload takes of one cluster. */
interface ClusterReservation {
  readonly target: string;
  /** By part: one, but for a moment. */
  seen: Map<string, ResourceAmounts> | undefined;
  /** To come from another cluster, by what the whole says. */
  underWay: ResourceAmounts | undefined;
  held: ResourceAmounts | undefined;
  counted: ResourceAmounts;
}

export class ReservationCache {
  readonly #options: ReservationCacheOptions;
  readonly #placeOf: (cluster: string, target: string) => string;
  readonly #wholes = new Map<string, ReservedWorkload>();
  readonly #byNamespace = new Map<string, Set<ReservedWorkload>>();
  readonly #places = new Map<string, Map<string, number>>();
  /** By logical cluster, and in it by target. */
  readonly #workspaces = new Map<string, Map<string, Map<string, number>>>();
  readonly #parts = new Map<string, ObservedCopy>();

  constructor(options: ReservationCacheOptions = {}) {
    this.#options = options;
    this.#placeOf = options.placeOf ?? ((cluster, target) => `${cluster}|${target}`);
  }

  see(part: ObservedCopy): void {
    const before = this.#parts.get(part.key);
    if (before !== undefined && !isSameReservation(before, part)) this.unsee(part.key);
    this.#parts.set(part.key, part);
    const whole = this.#whole(part);
    whole.labels = part.labels;
    const isNew = !whole.cells.has(part.target) || before?.isLost !== part.isLost;
    const cell = this.#cell(whole, part.target);
    cell.seen = (cell.seen ?? new Map()).set(part.key, part.amounts);
    this.#count(whole, part.target);
    if (isNew) this.#options.onMoved?.(part);
  }

  unsee(key: string): void {
    const part = this.#parts.get(key);
    if (part === undefined) return;
    this.#parts.delete(key);
    const whole = this.#whole(part);
    whole.cells.get(part.target)?.seen?.delete(key);
    this.#count(whole, part.target);
    if (!whole.cells.has(part.target)) this.#options.onMoved?.(part);
  }

  /** What was decided for a workload, by target; instead of what was held before. */
  hold(
    name: WorkloadKey,
    held: ReadonlyMap<string, ResourceAmounts>,
    labels: StringMap = {},
  ): void {
    this.#put(name, "held", held, labels);
  }

  /** What a whole says is between two of its clusters, by the one that it goes to; instead of what it said before. */
  seeUnderWay(name: WorkloadKey, all: InFlightByCluster, labels: StringMap = {}): void {
    if (all.size === 0 && !this.#wholes.has(idOf(name))) return;
    const amounts = new Map([...all].map(([target, { reserved }]) => [target, reserved]));
    this.#put(name, "underWay", amounts, labels);
  }

  #put(
    name: WorkloadKey,
    what: "held" | "underWay",
    amounts: ReadonlyMap<string, ResourceAmounts>,
    labels: StringMap,
  ): void {
    const whole = this.#whole(name);
    if (whole.cells.size === 0) whole.labels = labels;
    const before = [...whole.cells.keys()];
    let isMoved = false;
    for (const target of new Set([...before, ...amounts.keys()])) {
      if (!whole.cells.has(target)) isMoved = true;
      this.#cell(whole, target)[what] = amounts.get(target);
      this.#count(whole, target);
    }
    if (whole.cells.size === 0) this.#forget(whole);
    if (isMoved || before.some((target) => !whole.cells.has(target)))
      this.#options.onMoved?.(whole);
  }

  /** How much of a resource all but one workload have of a cluster that it calls so. As it is when it is asked for: nothing of it is to be kept. */
  usedByOthers(name: WorkloadKey): (target: string, home?: string) => (resource: string) => number {
    const cells = this.#wholes.get(idOf(name))?.cells;
    return (target, home = name.cluster) => {
      const sum = this.#places.get(this.#placeOf(home, target)) ?? noResources;
      const own = cells?.get(target)?.counted ?? noResources;
      return (resource) => (sum.get(resource) ?? 0) - (own.get(resource) ?? 0);
    };
  }

  /** By all but one workload of its workspace, of some clusters together. */
  usedInWorkspace(name: WorkloadKey, targets: readonly string[]): ResourceAmounts {
    const sum = new Map<string, number>();
    const own = this.#wholes.get(idOf(name));
    for (const target of targets) {
      addTo(sum, this.#workspaces.get(name.cluster)?.get(target) ?? noResources);
      addTo(sum, own?.cells.get(target)?.counted ?? noResources, -1);
    }
    return sum;
  }

  reserved(cluster: string, target: string): ResourceAmounts {
    return this.#places.get(this.#placeOf(cluster, target)) ?? noResources;
  }

  /** The other workloads of the namespace, of all kinds. */
  neighbours(name: WorkloadKey): readonly (ExistingWorkload & Pick<WorkloadKey, "resource">)[] {
    const own = idOf(name);
    const wholes = this.#byNamespace.get(`${name.cluster}|${name.namespace}`) ?? [];
    return [...wholes]
      .filter((one) => idOf(one) !== own)
      .map(({ name, resource, labels, cells }) => {
        const clusters = [...cells.keys()];
        return { name, resource, labels, clusters, lost: this.#lostOf(cells) };
      });
  }

  /** Where all that is seen of it is lost; undefined where nothing is. */
  #lostOf(cells: ReservedWorkload["cells"]): ReadonlySet<string> | undefined {
    let lost: Set<string> | undefined;
    for (const [target, { seen }] of cells) {
      if (seen === undefined || seen.size === 0) continue;
      const isLost = [...seen.keys()].every((key) => this.#parts.get(key)?.isLost === true);
      if (isLost) lost = (lost ?? new Set()).add(target);
    }
    return lost;
  }

  #whole({ cluster, namespace, resource, name }: WorkloadKey): ReservedWorkload {
    const id = idOf({ cluster, namespace, resource, name });
    let whole = this.#wholes.get(id);
    if (whole === undefined) {
      whole = { cluster, namespace, resource, name, labels: {}, cells: new Map() };
      this.#wholes.set(id, whole);
      const scope = `${cluster}|${namespace}`;
      const known = this.#byNamespace.get(scope);
      if (known === undefined) this.#byNamespace.set(scope, new Set([whole]));
      else known.add(whole);
    }
    return whole;
  }

  #cell(whole: ReservedWorkload, target: string): ClusterReservation {
    let cell = whole.cells.get(target);
    if (cell === undefined) {
      cell = {
        target,
        seen: undefined,
        underWay: undefined,
        held: undefined,
        counted: noResources,
      };
      whole.cells.set(target, cell);
    }
    return cell;
  }

  #count(whole: ReservedWorkload, target: string): void {
    const cell = whole.cells.get(target);
    if (cell === undefined) return;
    const { held, underWay } = cell;
    let seen = underWay ?? noResources;
    for (const amounts of cell.seen?.values() ?? [])
      seen = seen === noResources ? amounts : total(seen, amounts);
    const counted = held === undefined ? seen : seen.size === 0 ? held : maxOfEach(seen, held);
    const before = cell.counted;
    cell.counted = counted;
    this.#move(whole, target, before, counted);
    if ((cell.seen?.size ?? 0) > 0 || held !== undefined || underWay !== undefined) return;
    whole.cells.delete(target);
    if (whole.cells.size === 0) this.#forget(whole);
  }

  #move(
    { cluster }: ReservedWorkload,
    target: string,
    before: ResourceAmounts,
    after: ResourceAmounts,
  ): void {
    if (isSame(before, after)) return;
    const place = this.#placeOf(cluster, target);
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

  #forget(whole: ReservedWorkload): void {
    this.#wholes.delete(idOf(whole));
    const scope = `${whole.cluster}|${whole.namespace}`;
    const known = this.#byNamespace.get(scope);
    known?.delete(whole);
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
