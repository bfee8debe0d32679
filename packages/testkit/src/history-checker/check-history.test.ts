/**
 * A small history that is right, and the same with one fault planted, for every promise: each checker finds its own. What a server may do,
 * and must not be blamed for, is here as well.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
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
  WriteRequest,
} from "./history.ts";

const a: ObjectKey = { cluster: "one", namespace: "h", name: "a" };
const b: ObjectKey = { cluster: "one", namespace: "h", name: "b" };
const foreign: ObjectKey = { cluster: "two", namespace: "h", name: "a" };
const all: Scope = { cluster: "one", namespace: "h" };
const red: Scope = { ...all, label: ["color", "red"] };

function object(revision: number, value: string, more: Partial<ObjectState> = {}): ObjectState {
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

const blue = { labels: { color: "blue" } };
const a11 = object(11, "1");
const a12 = object(12, "2", { generation: 2 });
const b13 = object(13, "3", { uid: "v" });
const a14 = object(14, "4", { generation: 3, ...blue });
const b15 = { ...b13, revision: 15 };
const a16 = object(16, "5", { generation: 4 });

/** Each operation takes its revision as its time, and half a millisecond. */
function operation(
  at: number,
  key: ObjectKey,
  request: Operation["request"],
  outcome: Outcome,
  returnedAt = at + 0.5,
): Operation {
  return { client: "c", key, request, outcome, invokedAt: at, returnedAt };
}

function write(verb: "create" | "update", key: ObjectKey, state: ObjectState): Operation {
  const { spec, labels } = state;
  return operation(state.revision, key, { verb, spec, labels }, { kind: "object", state });
}

const gone: Outcome = { kind: "deleted", uid: "v" };
const open: Outcome = { kind: "open", reason: "timeout" };
const never = Number.POSITIVE_INFINITY;

const operations: readonly Operation[] = [
  write("create", a, a11),
  write("update", a, a12),
  write("create", b, b13),
  write("update", a, a14),
  operation(15, b, { verb: "delete" }, gone),
  write("update", a, a16),
  operation(17, a, { verb: "get" }, { kind: "object", state: a16 }),
  operation(17, b, { verb: "get" }, { kind: "notFound" }),
];

function event(
  type: "ADDED" | "MODIFIED" | "DELETED",
  key: ObjectKey,
  state: ObjectState,
): WatchEvent {
  return { type, key, state, receivedAt: state.revision };
}

function bookmark(revision: number): WatchEvent {
  return { type: "BOOKMARK", revision, receivedAt: revision };
}

const allEvents: readonly WatchEvent[] = [
  event("ADDED", a, a11),
  event("MODIFIED", a, a12),
  event("ADDED", b, b13),
  event("MODIFIED", a, a14),
  event("DELETED", b, b15),
  event("MODIFIED", a, a16),
];
const redEvents: readonly WatchEvent[] = [
  event("ADDED", a, a11),
  event("MODIFIED", a, a12),
  event("ADDED", b, b13),
  event("DELETED", a, { ...a12, revision: 14 }),
  event("DELETED", b, b15),
  event("ADDED", a, a16),
];

function watch(
  watcher: string,
  events: readonly WatchEvent[],
  more: Partial<WatchSegment> = {},
): WatchSegment {
  const start = { kind: "after", revision: 10, isResumed: false } as const;
  return { watcher, scope: all, openedAt: 10, start, events, ...more };
}

function list(
  revision: number,
  items: ListRecord["items"],
  more: Partial<ListRecord> = {},
): ListRecord {
  const times = { invokedAt: revision + 0.6, returnedAt: revision + 0.9 };
  const base = { client: "l", scope: all, mode: { kind: "quorum" }, pageRevisions: [] } as const;
  return { ...base, ...times, revision, items, ...more };
}

const right: History = {
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

function without(events: readonly WatchEvent[], index: number): WatchEvent[] {
  return events.filter((_, i) => i !== index);
}

function replaced<Item>(items: readonly Item[], index: number, item: Item): Item[] {
  return items.map((one, i) => (i === index ? item : one));
}

/** The history with one more watch beside the one that tells all. */
function withWatch(...segments: readonly WatchSegment[]): History {
  return { ...right, watches: [...right.watches, ...segments] };
}

function guarantees(history: History): string[] {
  return [...new Set(checkHistory(history).map(({ guarantee }) => guarantee))].sort();
}

const resumedAt12 = (events: readonly WatchEvent[]) => [
  watch("w", allEvents.slice(0, 2)),
  watch("w", events, { start: { kind: "after", revision: 12, isResumed: true } }),
];

const faults: readonly [title: string, guarantee: string, History][] = [
  [
    "events that change places are not ordered",
    "ordered",
    withWatch(
      watch(
        "w",
        replaced(replaced(allEvents, 2, allEvents[3] as WatchEvent), 3, allEvents[2] as WatchEvent),
      ),
    ),
  ],
  [
    "a bookmark that goes back is not ordered",
    "ordered",
    withWatch(watch("w", [...allEvents.slice(0, 3), bookmark(12)])),
  ],
  [
    "an event that a watcher hears again when it comes back is not unique",
    "unique",
    withWatch(
      watch("w", allEvents.slice(0, 3)),
      watch("w", allEvents.slice(2), { start: { kind: "after", revision: 12, isResumed: true } }),
    ),
  ],
  [
    "one revision with two contents is not atomic",
    "atomic",
    withWatch(watch("w", replaced(allEvents, 1, event("MODIFIED", a, object(12, "x"))))),
  ],
  [
    "one revision for two objects is not atomic",
    "atomic",
    withWatch(watch("w", replaced(allEvents, 1, event("ADDED", b, object(12, "2"))))),
  ],
  [
    "an event that is left out is not reliable",
    "reliable",
    withWatch(watch("w", without(allEvents, 3))),
  ],
  [
    "a deletion that is left out is not reliable",
    "reliable",
    withWatch(watch("w", without(allEvents, 4))),
  ],
  [
    "a change that left the selection and was not told is not reliable",
    "reliable",
    withWatch(watch("w", without(redEvents, 3), { scope: red })),
  ],
  [
    "an event that got lost between two streams is not resumable",
    "resumable",
    withWatch(...resumedAt12(allEvents.slice(3))),
  ],
  [
    "a bookmark before the events it speaks of is not bookmarkable",
    "bookmarkable",
    withWatch(watch("w", [...allEvents.slice(0, 2), bookmark(14), ...allEvents.slice(2)])),
  ],
  [
    "a bookmark in a stream that lost an event is not bookmarkable",
    "bookmarkable",
    withWatch(watch("w", [...allEvents.slice(0, 5), bookmark(16)])),
  ],
  [
    "a deletion with an older state has not the previous value",
    "previous value",
    withWatch(
      watch("w", replaced(redEvents, 3, event("DELETED", a, { ...a11, revision: 14 })), {
        scope: red,
      }),
    ),
  ],
  [
    "MODIFIED for a new object is not is-create",
    "is-create",
    withWatch(watch("w", replaced(allEvents, 2, event("MODIFIED", b, b13)))),
  ],
  [
    "ADDED for an object that was there is not is-create",
    "is-create",
    withWatch(watch("w", replaced(redEvents, 1, event("ADDED", a, a12)), { scope: red })),
  ],
  [
    "an object that is not selected is not filtered",
    "filtered",
    withWatch(watch("w", replaced(redEvents, 3, event("MODIFIED", a, a14)), { scope: red })),
  ],
  [
    "an object of another cluster in a watch is not isolated",
    "isolation",
    withWatch(watch("w", [event("ADDED", foreign, object(11, "1"))])),
  ],
  [
    "content of another cluster is not isolated",
    "isolation",
    { ...right, lists: [list(13, [{ key: a, state: { ...a12, spec: { value: "two/2" } } }])] },
  ],
  [
    "a wildcard watch that leaves a cluster out is not reliable",
    "reliable",
    {
      ...right,
      operations: [
        ...operations,
        write("create", foreign, { ...object(12.5, ""), spec: {}, uid: "w" }),
      ],
      watches: [...right.watches, watch("w", allEvents, { scope: { ...all, cluster: "*" } })],
    },
  ],
  [
    "a list without an object that was there is no snapshot",
    "snapshot",
    { ...right, lists: [list(13, [{ key: a, state: a12 }], { mode: { kind: "any" } })] },
  ],
  [
    "a list with an older state is no snapshot",
    "snapshot",
    {
      ...right,
      lists: [list(12, [{ key: a, state: a11 }], { mode: { kind: "any" } })],
    },
  ],
  [
    "a list with a deleted object is no snapshot",
    "snapshot",
    {
      ...right,
      lists: [
        list(
          15,
          [
            { key: a, state: a14 },
            { key: b, state: b13 },
          ],
          { mode: { kind: "any" } },
        ),
      ],
    },
  ],
  [
    "a list with an object that is newer than it is no snapshot",
    "snapshot",
    { ...right, lists: [list(11, [{ key: a, state: a12 }], { mode: { kind: "any" } })] },
  ],
  [
    "an exact list of another revision is no snapshot",
    "snapshot",
    {
      ...right,
      lists: [list(11, [{ key: a, state: a11 }], { mode: { kind: "exact", revision: 12 } })],
    },
  ],
  [
    "a list that is older than asked is no snapshot",
    "snapshot",
    {
      ...right,
      lists: [list(11, [{ key: a, state: a11 }], { mode: { kind: "notOlderThan", revision: 12 } })],
    },
  ],
  [
    "pages of two revisions are no snapshot",
    "snapshot",
    { ...right, lists: [list(11, [{ key: a, state: a11 }], { pageRevisions: [11, 12] })] },
  ],
  [
    "a quorum list that misses an acknowledged write is no snapshot",
    "snapshot",
    {
      ...right,
      lists: [list(11, [{ key: a, state: a11 }], { invokedAt: 12.6, returnedAt: 12.7 })],
    },
  ],
  [
    "a list that knows a later write is no snapshot",
    "snapshot",
    {
      ...right,
      lists: [
        list(12, [{ key: a, state: a12 }], {
          mode: { kind: "any" },
          invokedAt: 10,
          returnedAt: 11,
        }),
      ],
    },
  ],
  [
    "initial events that leave an object out are no snapshot",
    "snapshot",
    withWatch(
      watch("w", [], {
        start: { kind: "initial", mode: { kind: "any" } },
        initial: { items: [{ key: a, state: a12 }], revision: 13, at: 13.8 },
      }),
    ),
  ],
  [
    "revisions against the order of time are found for two keys, too",
    "revision order",
    {
      ...right,
      operations: [
        ...operations,
        {
          ...write("create", foreign, { ...object(5, ""), spec: {} }),
          invokedAt: 18,
          returnedAt: 19,
        },
      ],
    },
  ],
];

/** Operations that no object explains, behind those of the right history. */
const impossible: readonly [title: string, readonly Operation[]][] = [
  ["a stale get", [operation(18, a, { verb: "get" }, { kind: "object", state: a14 })]],
  [
    "an acknowledged write that nobody finds",
    [operation(18, a, { verb: "get" }, { kind: "notFound" })],
  ],
  [
    "a get of what nobody wrote",
    [operation(18, b, { verb: "get" }, { kind: "object", state: object(18, "9") })],
  ],
  ["a second create of an object", [write("create", a, object(18, "9"))]],
  [
    "an AlreadyExists for nothing",
    [operation(18, b, { verb: "create", spec: {}, labels: {} }, { kind: "alreadyExists" })],
  ],
  [
    "an update with a stale resourceVersion that goes through",
    [
      operation(
        18,
        a,
        { verb: "update", spec: { value: "one/9" }, labels: {}, expectedRevision: 14 },
        { kind: "object", state: object(18, "9", { generation: 5, labels: {} }) },
      ),
    ],
  ],
  [
    "a conflict of an update whose resourceVersion is right",
    [
      operation(
        18,
        a,
        { verb: "update", spec: {}, labels: {}, expectedRevision: 16 },
        { kind: "conflict" },
      ),
    ],
  ],
  [
    "a conflict of a patch that expects nothing",
    [operation(18, a, { verb: "patch", spec: {}, labels: {} }, { kind: "conflict" })],
  ],
  [
    "a deletion whose uid is another's",
    [operation(18, a, { verb: "delete", expectedUid: "x" }, { kind: "deleted", uid: "u" })],
  ],
  [
    "a generation that stays when the spec changes",
    [write("update", a, object(18, "9", { generation: 4 }))],
  ],
  [
    "a generation that grows when only the status changes",
    [
      operation(
        18,
        a,
        { verb: "patchStatus", status: { seen: "one/9" } },
        {
          kind: "object",
          state: { ...a16, revision: 18, generation: 5, status: { seen: "one/9" } },
        },
      ),
    ],
  ],
  [
    "a uid that changes in an update",
    [write("update", a, object(18, "9", { generation: 5, uid: "x" }))],
  ],
  [
    "a patch that loses what it was not about",
    [
      operation(
        18,
        a,
        { verb: "patch", spec: { patched: "one/9" }, labels: {} },
        {
          kind: "object",
          state: { ...a16, revision: 18, generation: 5, spec: { patched: "one/9" } },
        },
      ),
    ],
  ],
  [
    "an open write that is seen, gone, and seen again",
    [
      operation(18, a, { verb: "update", spec: { value: "one/9" }, labels: {} }, open, never),
      operation(
        19,
        a,
        { verb: "get" },
        { kind: "object", state: object(18, "9", { generation: 5, labels: {} }) },
      ),
      operation(20, a, { verb: "get" }, { kind: "object", state: a16 }),
    ],
  ],
  [
    "an open write that takes effect before its call",
    [
      operation(18, b, { verb: "get" }, { kind: "object", state: object(30, "9") }),
      operation(
        19,
        b,
        { verb: "create", spec: { value: "one/9" }, labels: { color: "red" } },
        open,
        never,
      ),
    ],
  ],
];

const possible: readonly [title: string, History][] = [
  ["nothing wrong", right],
  ["a stream that came back and went on", withWatch(...resumedAt12(allEvents.slice(2)))],
  [
    "bookmarks in their places",
    withWatch(
      watch("w", [...allEvents.slice(0, 3), bookmark(13), ...allEvents.slice(3), bookmark(16)]),
    ),
  ],
  [
    "an open write that is seen later",
    withOperations([
      operation(18, a, { verb: "update", spec: { value: "one/9" }, labels: {} }, open, never),
      operation(19, a, { verb: "get" }, { kind: "object", state: a16 }),
      operation(
        21,
        a,
        { verb: "get" },
        { kind: "object", state: object(20, "9", { generation: 5, labels: {} }) },
      ),
    ]),
  ],
  [
    "a conflict with an open write that nobody saw",
    withOperations(
      [
        operation(18, a, { verb: "update", spec: { value: "one/9" }, labels: {} }, open, never),
        operation(
          19,
          a,
          { verb: "update", spec: {}, labels: {}, expectedRevision: 16 },
          { kind: "conflict" },
        ),
      ],
      [],
    ),
  ],
  [
    "an open deletion that is seen later",
    withOperations([
      operation(18, a, { verb: "delete" }, open, never),
      operation(19, a, { verb: "get" }, { kind: "object", state: a16 }),
      operation(20, a, { verb: "get" }, { kind: "notFound" }),
    ]),
  ],
  [
    "a deletion that nobody saw, and a list without the object",
    {
      ...right,
      operations: [write("create", a, a11)],
      lists: [list(13, [], { mode: { kind: "any" } })],
      watches: [],
    },
  ],
  [
    "an apply that creates",
    withOperations([
      operation(
        18,
        b,
        { verb: "apply", spec: { applied: "one/9" }, labels: {} },
        {
          kind: "object",
          state: object(18, "", { uid: "n", labels: {}, spec: { applied: "one/9" } }),
        },
      ),
    ]),
  ],
];

function withOperations(more: readonly Operation[], watches = right.watches): History {
  return { ...right, operations: [...operations, ...more], watches };
}

describe("a checked history", () => {
  for (const [title, history] of possible) {
    it(`${title} is no violation`, () => assert.deepEqual(checkHistory(history), []));
  }
  for (const [title, guarantee, history] of faults) {
    it(title, () => assert.ok(guarantees(history).includes(guarantee), guarantees(history).join()));
  }
  for (const [title, more] of impossible) {
    it(`${title} is not linearizable`, () => {
      const found = guarantees(withOperations(more));
      assert.ok(found.includes("linearizable"), found.join());
    });
  }

  it("a quorum list that shows what was deleted before is not linearizable", () => {
    const stale = list(
      14,
      [
        { key: a, state: a14 },
        { key: b, state: b13 },
      ],
      { invokedAt: 15.6, returnedAt: 15.8 },
    );
    assert.deepEqual(guarantees({ ...right, lists: [stale] }), ["linearizable"]);
  });

  it("many writes at once whose answers were lost are decided", () => {
    const writes = Array.from({ length: 14 }, (_, i): Operation => {
      const request: WriteRequest = { verb: "patch", spec: { [`p${i}`]: `one/${i}` }, labels: {} };
      return operation(18 + i / 100, a, request, open, never);
    });
    assert.deepEqual(checkHistory(withOperations(writes)), []);
  });
});
