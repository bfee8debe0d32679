/**
 * What was heard lately of namespaces, to leave out looks that would find nothing to do: those of new workspaces come with everything in them, and those of
 * deleted ones go before what was in them.
 *
 * Three watches tell of it, each in its own time. So nothing here is more than a hint not to look *now*: whatever is taken away later is told later, and
 * is a reason to look again. And after some seconds it is forgotten.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { ObjectKey } from "@kcp-ts/sdk";

/** Of each kind, a hundred bytes or so each. */
export const recentWritesMax = 1024;
/** Watches of one server are not further apart than this. */
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

  /** It is as it is to be. */
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

  /** Everything that it needs was told since, and nothing of it was taken away. Told once: it is forgotten then. */
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

  /** Nothing further is told: it leaves no timer behind. */
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
