/** For tests: a small history that is right, and what wrong ones are made of. */
import { checkHistory } from "./check-history.ts";
import type {
  History,
  ListRecord,
  ObjectKey,
  ObjectState,
  Operation,
  Outcome,
  Scope,
  WatchEvent,
  WatchSegment,
} from "./history.ts";

export const a: ObjectKey = { cluster: "one", namespace: "h", name: "a" };
export const b: ObjectKey = { cluster: "one", namespace: "h", name: "b" };
export const foreign: ObjectKey = { cluster: "two", namespace: "h", name: "a" };
export const all: Scope = { cluster: "one", namespace: "h" };
export const red: Scope = { ...all, label: ["color", "red"] };

export function object(
  revision: number,
  value: string,
  more: Partial<ObjectState> = {},
): ObjectState {
  const labels = { color: "red" };
  return {
    uid: "u",
    revision,
    generation: 1,
    labels,
    spec: { value: `one/${value}` },
    status: {},
    ...more,
  };
}

export const blue = { labels: { color: "blue" } };
export const a11 = object(11, "1");
export const a12 = object(12, "2", { generation: 2 });
export const b13 = object(13, "3", { uid: "v" });
export const a14 = object(14, "4", { generation: 3, ...blue });
export const b15 = { ...b13, revision: 15 };
export const a16 = object(16, "5", { generation: 4 });

/** Each operation takes its revision as its time, and half a millisecond. */
export function operation(
  at: number,
  key: ObjectKey,
  request: Operation["request"],
  outcome: Outcome,
  returnedAt = at + 0.5,
): Operation {
  return { client: "c", key, request, outcome, invokedAt: at, returnedAt };
}

export function write(verb: "create" | "update", key: ObjectKey, state: ObjectState): Operation {
  const { spec, labels } = state;
  return operation(state.revision, key, { verb, spec, labels }, { kind: "object", state });
}

export const deleted: Outcome = { kind: "deleted", uid: "v" };
export const open: Outcome = { kind: "open", reason: "timeout" };
export const never = Number.POSITIVE_INFINITY;

export const operations: readonly Operation[] = [
  write("create", a, a11),
  write("update", a, a12),
  write("create", b, b13),
  write("update", a, a14),
  operation(15, b, { verb: "delete" }, deleted),
  write("update", a, a16),
  operation(17, a, { verb: "get" }, { kind: "object", state: a16 }),
  operation(17, b, { verb: "get" }, { kind: "notFound" }),
];

export function event(
  type: "ADDED" | "MODIFIED" | "DELETED",
  key: ObjectKey,
  state: ObjectState,
): WatchEvent {
  return { type, key, state, receivedAt: state.revision };
}

export function bookmark(revision: number): WatchEvent {
  return { type: "BOOKMARK", revision, receivedAt: revision };
}

export const allEvents: readonly WatchEvent[] = [
  event("ADDED", a, a11),
  event("MODIFIED", a, a12),
  event("ADDED", b, b13),
  event("MODIFIED", a, a14),
  event("DELETED", b, b15),
  event("MODIFIED", a, a16),
];
export const redEvents: readonly WatchEvent[] = [
  event("ADDED", a, a11),
  event("MODIFIED", a, a12),
  event("ADDED", b, b13),
  event("DELETED", a, { ...a12, revision: 14 }),
  event("DELETED", b, b15),
  event("ADDED", a, a16),
];

export function watch(
  watcher: string,
  events: readonly WatchEvent[],
  more: Partial<WatchSegment> = {},
): WatchSegment {
  const start = { kind: "after", revision: 10, isResumed: false } as const;
  return { watcher, scope: all, openedAt: 10, start, events, ...more };
}

export function list(
  revision: number,
  items: ListRecord["items"],
  more: Partial<ListRecord> = {},
): ListRecord {
  const times = { invokedAt: revision + 0.6, returnedAt: revision + 0.9 };
  const base = { client: "l", scope: all, mode: { kind: "quorum" }, pageRevisions: [] } as const;
  return { ...base, ...times, revision, items, ...more };
}

export const right: History = {
  startRevision: 10,
  operations,
  lists: [
    list(13, [
      { key: a, state: a12 },
      { key: b, state: b13 },
    ]),
  ],
  staleGets: [],
  watches: [watch("all", allEvents), watch("red", redEvents, { scope: red })],
};

export function without(events: readonly WatchEvent[], index: number): WatchEvent[] {
  return events.filter((_, i) => i !== index);
}

export function replaced<Item>(items: readonly Item[], index: number, item: Item): Item[] {
  return items.map((one, i) => (i === index ? item : one));
}

/** The history with one more watch beside the one that tells all. */
export function withWatch(...segments: readonly WatchSegment[]): History {
  return { ...right, watches: [...right.watches, ...segments] };
}

export function withOperations(more: readonly Operation[], watches = right.watches): History {
  return { ...right, operations: [...operations, ...more], watches };
}

export function guarantees(history: History): string[] {
  return [...new Set(checkHistory(history).map(({ guarantee }) => guarantee))].sort();
}
