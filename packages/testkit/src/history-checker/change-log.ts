/**
 * The known changes of a history, collected from every response and every event.
 *
 * A revision is one change of one object, the same in every response. In the range of an unfiltered
 * watch all changes are known; elsewhere a deletion may be unseen, and its absence proves nothing.
 */
import {
  type History,
  keyText,
  type ObjectKey,
  type ObjectState,
  revisionOf,
  type Violation,
  type WatchSegment,
} from "./history.ts";
import { sameState, stateText } from "./same-state.ts";
import { isUnfiltered } from "./scope.ts";

export interface KnownChange {
  readonly key: ObjectKey;
  readonly revision: number;
  /** For a deletion the state that went, at the revision of the deletion. */
  readonly kind: "put" | "delete";
  readonly state: ObjectState;
  readonly source: string;
}

/** From a revision (exclusive) to another. */
type Interval = readonly [after: number, upTo: number];

export class ChangeLog {
  readonly contradictions: Violation[] = [];
  readonly #byRevision = new Map<number, KnownChange>();
  readonly #byKey = new Map<string, KnownChange[]>();
  readonly #covered = new Map<string, Interval[]>();
  readonly #sorted: readonly KnownChange[];
  readonly #startRevision: number;

  constructor(history: History) {
    this.#startRevision = history.startRevision;
    for (const change of changesOf(history)) this.#add(change);
    for (const changes of this.#byKey.values()) changes.sort((a, b) => a.revision - b.revision);
    for (const segment of history.watches) this.#cover(segment);
    for (const [scope, intervals] of this.#covered) this.#covered.set(scope, merged(intervals));
    this.#sorted = [...this.#byRevision.values()].sort((a, b) => a.revision - b.revision);
  }

  /** In order of their revisions. */
  changes(): readonly KnownChange[] {
    return this.#sorted;
  }

  at(revision: number): KnownChange | undefined {
    return this.#byRevision.get(revision);
  }

  keys(): readonly string[] {
    return [...this.#byKey.keys()];
  }

  /** Of one key, in order. */
  changesOfKey(key: string): readonly KnownChange[] {
    return this.#byKey.get(key) ?? [];
  }

  /** The last known change of a key at or before a revision. */
  last(key: string, upTo: number): KnownChange | undefined {
    return this.changesOfKey(key).findLast(({ revision }) => revision <= upTo);
  }

  /** Whether all changes behind one revision and up to another are known. */
  covers({ cluster, namespace }: ObjectKey, after: number, upTo: number): boolean {
    if (upTo <= after) return true;
    const intervals = this.#covered.get(`${cluster}/${namespace}`) ?? [];
    return intervals.some(([from, to]) => from <= after && to >= upTo);
  }

  /**
   * Whether all changes of a key behind its last known one before a revision, and up to it, are
   * known: none is missing between the two.
   */
  coversSince(key: ObjectKey, before: KnownChange | undefined, upTo: number): boolean {
    return this.covers(key, before?.revision ?? this.#startRevision, upTo);
  }

  /** Whether nothing of what concerns a key can have gone unseen. */
  coversAll(key: ObjectKey): boolean {
    const isNear = (other: ObjectKey) =>
      other.cluster === key.cluster && other.namespace === key.namespace;
    const newest = this.#sorted.findLast((change) => isNear(change.key))?.revision ?? 0;
    return this.covers(key, this.#startRevision, newest);
  }

  #add(change: KnownChange): void {
    const known = this.#byRevision.get(change.revision);
    if (known === undefined) {
      this.#byRevision.set(change.revision, change);
      const key = keyText(change.key);
      const changes = this.#byKey.get(key) ?? [];
      this.#byKey.set(key, changes);
      changes.push(change);
      return;
    }
    const isSame =
      known.kind === change.kind &&
      keyText(known.key) === keyText(change.key) &&
      sameState(known.state, change.state);
    if (!isSame) this.contradictions.push(contradiction(known, change));
  }

  #cover(segment: WatchSegment): void {
    const { scope, events } = segment;
    const last = events.at(-1);
    const after = startOf(segment);
    if (!isUnfiltered(scope) || scope.cluster === "*" || after === undefined) return;
    const name = `${scope.cluster}/${scope.namespace}`;
    const intervals = this.#covered.get(name) ?? [];
    this.#covered.set(name, intervals);
    intervals.push([after, last === undefined ? after : Math.max(after, revisionOf(last))]);
  }
}

/**
 * The revision behind which a segment's live events begin; undefined when its initial events never
 * ended.
 */
export function startOf({ start, initial }: WatchSegment): number | undefined {
  return start.kind === "after" ? start.revision : initial?.revision;
}

function contradiction(known: KnownChange, other: KnownChange): Violation {
  return {
    guarantee: "atomic",
    message: `revision ${other.revision} is not the same change for everybody`,
    excerpt: [known, other].map(
      ({ source, kind, key, state }) => `${source}: ${kind} ${keyText(key)} ${stateText(state)}`,
    ),
  };
}

function merged(intervals: readonly Interval[]): Interval[] {
  const sorted = [...intervals].sort((a, b) => a[0] - b[0]);
  const result: [number, number][] = [];
  for (const [after, upTo] of sorted) {
    const last = result.at(-1);
    if (last !== undefined && after <= last[1]) last[1] = Math.max(last[1], upTo);
    else result.push([after, upTo]);
  }
  return result;
}

function* changesOf(history: History): Generator<KnownChange> {
  const put = (key: ObjectKey, state: ObjectState, source: string): KnownChange => ({
    key,
    revision: state.revision,
    kind: "put",
    state,
    source,
  });
  for (const { client, key, request, outcome } of history.operations) {
    if (outcome.kind === "object") yield put(key, outcome.state, `${client} ${request.verb}`);
  }
  for (const { client, key, state } of history.staleGets) yield put(key, state, `${client} get`);
  for (const { client, items } of history.lists) {
    for (const { key, state } of items) yield put(key, state, `${client} list`);
  }
  for (const { watcher, scope, initial, events } of history.watches) {
    for (const { key, state } of initial?.items ?? []) yield put(key, state, `watch ${watcher}`);
    for (const event of events) {
      if (event.type === "BOOKMARK") continue;
      const { key, state, type } = event;
      if (type !== "DELETED") yield put(key, state, `watch ${watcher}`);
      // A watch with a selector gets a DELETED for an object that only left the selection.
      else if (isUnfiltered(scope)) {
        yield { key, revision: state.revision, kind: "delete", state, source: `watch ${watcher}` };
      }
    }
  }
}
