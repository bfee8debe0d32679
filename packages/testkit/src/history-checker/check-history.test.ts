/**
 * A correct small history, and the same with one injected fault for every guarantee: each checker
 * finds its own. Permitted behaviour of a server, which must not be reported, is tested as well.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkHistory } from "./check-history.ts";
import type { History, WatchEvent } from "./history.ts";
import {
  a,
  a11,
  a12,
  a14,
  a16,
  all,
  allEvents,
  b,
  b13,
  bookmark,
  event,
  foreign,
  guarantees,
  list,
  never,
  object,
  open,
  operation,
  operations,
  red,
  redEvents,
  replaced,
  right,
  watch,
  withOperations,
  without,
  withWatch,
  write,
} from "./sample-history.ts";

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
    { ...right, lists: [list(12, [{ key: a, state: a11 }], { mode: { kind: "any" } })] },
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

describe("a checked history", () => {
  for (const [title, history] of possible) {
    it(`${title} is no violation`, () => assert.deepEqual(checkHistory(history), []));
  }
  for (const [title, guarantee, history] of faults) {
    it(title, () => assert.ok(guarantees(history).includes(guarantee), guarantees(history).join()));
  }
});
