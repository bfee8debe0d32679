/**
 * RecentWrites: recent watch events of namespaces, to skip reconciles that would find nothing to
 * do: a new workspace creates its namespaces with all default objects, and a deleted one deletes
 * its namespaces before their content.
 *
 * Three watches deliver the events, each at its own pace. So the result is only a hint that no
 * reconcile is needed *now*: a later deletion is delivered later, and enqueues the namespace again.
 * Entries expire after some seconds.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { ObjectKey } from "@kcp-ts/sdk";

/** Entries of each kind, a hundred bytes or so each. */
export const recentWritesMax = 1024;
/** The watches of one server are not further apart than this. */
export const recentWritesMs = 5000;

export type Member = "rootCa" | "serviceAccount";
const bits = { rootCa: 1, serviceAccount: 2 } as const;

export class RecentWrites {
  readonly #whole: number;
  readonly #members = new Map<string, number>();
  readonly #gone = new Set<string>();
  readonly #clock: Clock;
  #timer: Timer | undefined;

  constructor(clock: Clock, members: readonly Member[]) {
    this.#clock = clock;
    this.#whole = members.reduce((all, member) => all | bits[member], 0);
  }

  /** The default object is as it must be. */
  hasMember(namespace: ObjectKey, member: Member): void {
    const key = keyOf(namespace);
    this.#forgetLater();
    bounded(this.#members);
    this.#members.set(key, (this.#members.get(key) ?? 0) | bits[member]);
  }

  lacksMember(namespace: ObjectKey): void {
    this.#members.delete(keyOf(namespace));
  }

  added(namespace: ObjectKey): void {
    this.#gone.delete(keyOf(namespace));
  }

  deleted(namespace: ObjectKey): void {
    this.#members.delete(keyOf(namespace));
    this.#forgetLater();
    bounded(this.#gone);
    this.#gone.add(keyOf(namespace));
  }

  /**
   * Whether all default objects were delivered since, and none was deleted. Returned once: the
   * entry is removed then.
   */
  isWhole(namespace: ObjectKey): boolean {
    const key = keyOf(namespace);
    if (this.#members.get(key) !== this.#whole) return false;
    this.#members.delete(key);
    return true;
  }

  isGone(namespace: ObjectKey): boolean {
    return this.#gone.has(keyOf(namespace));
  }

  /** Changes may have been missed. */
  clear(): void {
    this.#members.clear();
    this.#gone.clear();
  }

  get size(): number {
    return this.#members.size + this.#gone.size;
  }

  /** No further events are delivered: removes the timer. */
  end(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.clear();
  }

  #forgetLater(): void {
    this.#timer ??= this.#clock.schedule(recentWritesMs, () => {
      this.#timer = undefined;
      this.clear();
    });
  }
}

function bounded(some: Map<string, number> | Set<string>): void {
  if (some.size < recentWritesMax) return;
  const [oldest] = some.keys();
  if (oldest !== undefined) some.delete(oldest);
}

function keyOf({ cluster, name }: ObjectKey): string {
  return `${cluster}/${name}`;
}
