/** Goal: a schema that is published in parts is the schema that is published as a whole. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "../base/index.ts";
import type { JsonObject } from "../json/index.ts";
import { type PublishedKind, publishText, publishV2, publishV3, readSchema } from "./index.ts";

const kind: PublishedKind = {
  group: "stable.example.com",
  version: "v1",
  kind: "Widget",
  listKind: "WidgetList",
  plural: "widgets",
  selectableFields: [".spec.color"],
};

type Below = (limit: number) => number;

/** Numbers that look random and are the same for the same seed. */
function belowOf(seed: number): Below {
  let state = seed + 1;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const names = ["a", "7", "__proto__", "metadata", "kind", "", "constructor", 'quote"'];

function anySchema(below: Below, depth: number): JsonObject {
  const maybe = (members: () => JsonObject) => (below(4) === 0 ? members() : {});
  const more = {
    ...maybe(() => ({ nullable: true })),
    ...maybe(() => ({ description: "d".repeat(below(50)) })),
    ...maybe(() => ({ "x-kubernetes-preserve-unknown-fields": true })),
    ...maybe(() => ({ anyOf: [{ required: ["a"] }, { not: { minProperties: 1 } }] })),
  };
  if (depth === 0)
    return below(4) === 0
      ? { "x-kubernetes-int-or-string": true, ...more }
      : { type: "string", maxLength: below(9), ...more };
  switch (below(4)) {
    case 0:
      return { type: "array", items: anySchema(below, depth - 1), ...more };
    case 1:
      return { type: "object", additionalProperties: anySchema(below, depth - 1), ...more };
    default:
      break;
  }
  const count = below(3) === 0 ? below(200) : below(8);
  const entries = Array.from({ length: count }, (_, i): [string, JsonObject] => [
    names[i] ?? `f${i}`,
    anySchema(below, depth - 1 - below(2) * (count > 20 ? depth - 1 : 0)),
  ]);
  return {
    type: "object",
    properties: Object.fromEntries(entries),
    required: entries.filter(() => below(2) === 0).map(([name]) => name),
    ...maybe(() => ({ "x-kubernetes-embedded-resource": true })),
    ...more,
  };
}

describe("a schema published in parts", () => {
  it("is the same as that of the whole, in both dialects", () => {
    let large = 0;
    for (let seed = 0; seed < 200; seed++) {
      const schema = anySchema(belowOf(seed), 3);
      const { schema: read } = readSchema(schema, { isAccepted: true });
      for (const [dialect, publish] of [
        ["v2", publishV2],
        ["v3", publishV3],
      ] as const) {
        const text = runSync(publishText(schema, kind, dialect));
        if (text.length > 5000) large++;
        const whole = JSON.parse(JSON.stringify(publish(read, kind).schema));
        assert.deepEqual(JSON.parse(text), whole, `seed ${seed} in ${dialect}`);
      }
    }
    assert.ok(large > 20, `${large} large ones`);
  });

  it("is an object of any fields where a kind has no schema", () => {
    assert.deepEqual(
      JSON.parse(runSync(publishText(undefined, kind, "v3"))),
      publishV3(undefined, kind).schema,
    );
  });

  it("yields between the properties", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, i) => [`f${i}`, { type: "string" }]),
    );
    const rests = [...publishText({ type: "object", properties }, kind, "v3")].length;
    assert.ok(rests >= 90, `${rests} rests`);
  });
});
