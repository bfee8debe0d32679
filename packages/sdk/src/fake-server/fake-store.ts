/** The fake server's state: objects by key, one revision counter, history that can be compacted. */
import type { KubernetesObject } from "../client/index.ts";

export type StoredObject = KubernetesObject & { readonly [field: string]: unknown };

export interface Change {
  readonly revision: number;
  readonly key: string;
  readonly previous: StoredObject | undefined;
  readonly current: StoredObject | undefined;
}

export class FakeStore {
  readonly #objects = new Map<string, StoredObject>();
  #history: Change[] = [];
  #revision = 100;
  #compactedAt = 100;

  get revision(): number {
    return this.#revision;
  }

  get compactedAt(): number {
    return this.#compactedAt;
  }

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key);
  }

  put(key: string, object: StoredObject): Change {
    const revision = ++this.#revision;
    const current = {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(revision) },
    };
    return this.#record({ revision, key, previous: this.#objects.get(key), current });
  }

  remove(key: string): Change | undefined {
    const previous = this.#objects.get(key);
    if (previous === undefined) return undefined;
    return this.#record({ revision: ++this.#revision, key, previous, current: undefined });
  }

  /** Increments the revision without a change, as writes to other resources do. */
  tick(): void {
    this.#revision++;
  }

  /** Resets the revision, as a restore from a backup does; the objects keep their own versions. */
  rewind(revisions: number): void {
    this.#revision -= revisions;
    this.#history = [];
    this.#compactedAt = this.#revision;
  }

  /** Compacts history up to and including the newest change. */
  compact(): void {
    this.#history = [];
    this.#compactedAt = this.#revision;
  }

  /** Returns undefined when that history is compacted. */
  changesAfter(revision: number): readonly Change[] | undefined {
    if (revision < this.#compactedAt) return undefined;
    return this.#history.filter((change) => change.revision > revision);
  }

  /** The state at a revision in key order; undefined when that history is compacted. */
  stateAt(revision: number): Map<string, StoredObject> | undefined {
    const later = this.changesAfter(revision);
    if (later === undefined) return undefined;
    const state = new Map(this.#objects);
    for (const { key, previous } of later.toReversed()) {
      if (previous === undefined) state.delete(key);
      else state.set(key, previous);
    }
    return new Map([...state].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #record(change: Change): Change {
    if (change.current === undefined) this.#objects.delete(change.key);
    else this.#objects.set(change.key, change.current);
    this.#history.push(change);
    return change;
  }
}
