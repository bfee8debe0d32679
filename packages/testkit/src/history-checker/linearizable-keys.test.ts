/** Operations that no sequential object explains, appended to those of a correct history. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkHistory } from "./check-history.ts";
import type { Operation, WriteRequest } from "./history.ts";
import {
  a,
  a14,
  a16,
  b,
  b13,
  guarantees,
  list,
  never,
  object,
  open,
  operation,
  right,
  withOperations,
  write,
} from "./sample-history.ts";

/** Operations that no sequential object explains, appended to the correct history. */
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

describe("an object that several clients use", () => {
  for (const [title, more] of impossible) {
    it(`${title} is not linearizable`, () => {
      const found = guarantees(withOperations(more));
      assert.ok(found.includes("linearizable"), found.join());
    });
  }

  it("a quorum list that shows an object that was deleted before is not linearizable", () => {
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

  it("many concurrent writes whose responses were lost are decided", () => {
    const writes = Array.from({ length: 14 }, (_, i): Operation => {
      const request: WriteRequest = { verb: "patch", spec: { [`p${i}`]: `one/${i}` }, labels: {} };
      return operation(18 + i / 100, a, request, open, never);
    });
    assert.deepEqual(checkHistory(withOperations(writes)), []);
  });
});
