import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import { apply, object, owners, parts, type Step, sequence, write } from "./apply-fixture.ts";

describe("fields that an applier drops", () => {
  const rows: readonly [string, readonly Step[], JsonObject][] = [
    [
      "go when nobody else owns them",
      [
        ["a", { data: { x: "1", y: "1" } }],
        ["a", { data: { x: "1" } }],
      ],
      { data: { x: "1" } },
    ],
    [
      "stay when another applier owns them",
      [
        ["a", { data: { x: "1" } }],
        ["b", { data: { x: "1" } }],
        ["a", {}],
      ],
      { data: { x: "1" } },
    ],
    [
      "go with the last owner",
      [
        ["a", { data: { x: "1" } }],
        ["b", { data: { x: "1" } }],
        ["a", {}],
        ["b", {}],
      ],
      {},
    ],
    [
      "take their empty parents with them",
      [
        ["a", { spec: { nested: { a: "1" }, paused: "x" } }],
        ["a", { spec: { paused: "x" } }],
      ],
      { spec: { paused: "x" } },
    ],
    [
      "leave a parent that is applied as empty",
      [
        ["a", { data: { x: "1" } }],
        ["a", { data: {} }],
      ],
      { data: {} },
    ],
    [
      "become null where null is applied",
      [
        ["a", { spec: { nested: { a: "1" }, paused: "x" } }],
        ["a", { spec: { nested: null, paused: "x" } }],
      ],
      { spec: { nested: null, paused: "x" } },
    ],
    [
      "can be items of a keyed list",
      [
        [
          "a",
          {
            spec: {
              containers: [
                { name: "x", image: "1" },
                { name: "y", image: "1" },
              ],
            },
          },
        ],
        ["a", { spec: { containers: [{ name: "y", image: "1" }] } }],
      ],
      { spec: { containers: [{ name: "y", image: "1" }] } },
    ],
    [
      "leave an item of which another owns a part",
      [
        ["a", { spec: { containers: [{ name: "x", image: "1" }] } }],
        ["b", { spec: { containers: [{ name: "x", env: { k: "v" } }] } }],
        ["a", {}],
      ],
      { spec: { containers: [{ name: "x", env: { k: "v" } }] } },
    ],
    [
      "can be items of a set",
      [
        ["a", { spec: { tags: ["x", "y"] } }],
        ["b", { spec: { tags: ["y", "z"] } }],
        ["a", {}],
      ],
      { spec: { tags: ["y", "z"] } },
    ],
    [
      "can be atomic",
      [
        ["a", { spec: { selector: { x: "1" }, paused: "p" } }],
        ["a", { spec: { paused: "p" } }],
      ],
      { spec: { paused: "p" } },
    ],
    [
      "leave nothing of an only list",
      [
        ["a", { spec: { tags: ["x"] } }],
        ["a", {}],
      ],
      {},
    ],
  ];
  for (const [title, steps, expected] of rows) {
    it(title, () => assert.deepEqual(parts(sequence(...steps)), expected));
  }

  it("stay when an updater owns them, as fields of a struct", () => {
    let live = sequence(["a", { spec: { nested: { a: "1" } } }]);
    live = write(live, "controller", { ...live, spec: { nested: { a: "1", b: "2" } } });
    live = apply("a", object({}), { live });
    assert.deepEqual(parts(live), { spec: { nested: { b: "2" } } });
    assert.deepEqual(owners(live), {
      "Update controller": { "f:spec": { "f:nested": { "f:b": {} } } },
    });
  });

  it("take with them what an updater has added to an item that only they own", () => {
    let live = sequence(["a", { spec: { paused: "p", containers: [{ name: "x", image: "1" }] } }]);
    const containers = [{ name: "x", image: "1", env: { k: "v" } }];
    live = write(live, "controller", { ...live, spec: { paused: "p", containers } });
    live = apply("a", object({ spec: { paused: "p" } }), { live });
    assert.deepEqual(parts(live), { spec: { paused: "p" } });
    assert.deepEqual(owners(live), { "Apply a": { "f:spec": { "f:paused": {} } } });
  });
});
