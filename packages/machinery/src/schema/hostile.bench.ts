/**
 * How long the most expensive inputs that pass the limits hold the process: run after a build with
 * `node packages/machinery/dist/schema/hostile.bench.js`. Each figure is the worst of three calls.
 */
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from "../json/index.ts";
import {
  compileSchema,
  defaultCustomResourceDefinition,
  readCustomResourceDefinition,
  validateCustomResourceDefinition,
} from "./index.ts";

const bodyBytes = 3 * 1024 * 1024;

function worst(name: string, work: () => unknown): void {
  let slowest = 0;
  let result: unknown;
  for (let i = 0; i < 3; i++) {
    const start = performance.now();
    try {
      result = work();
    } catch (error) {
      result = error instanceof Error ? error.message : error;
    }
    slowest = Math.max(slowest, performance.now() - start);
  }
  const shown = Array.isArray(result)
    ? `${result.length} errors${result.length > 0 ? `, first: ${stringifyJson(result[0] as JsonValue).slice(0, 110)}` : ""}`
    : String(result);
  console.log(`${slowest.toFixed(1).padStart(8)} ms  ${name.padEnd(52)} ${shown.slice(0, 150)}`);
}

const under = (schema: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties: { x: schema },
  ...more,
});

function list(item: string): JsonObject {
  const count = Math.floor(bodyBytes / (item.length + 1));
  return parseJson(`{"x":[${Array.from({ length: count }, () => item).join()}]}`)
    .value as JsonObject;
}

const integers = list("1");
const objects = list("{}");
const texts = list('"abcdefgh"');
const unknown = list('{"aaa":1,"b":{"c":1}}');

function cases(name: string, schema: JsonObject, object: JsonObject): void {
  const compiled = compileSchema(schema);
  worst(`admit: ${name}`, () => compiled.admit(object).unknownFields.length);
  worst(`validate: ${name}`, () => compiled.validate(object));
  worst(`validate update: ${name}`, () => compiled.validate(object, { old: { ...object, y: 1 } }));
}

const items = (schema: JsonObject, more: JsonObject = {}): JsonObject =>
  under({ type: "array", items: schema, ...more });

cases("1.5 million integers", items({ type: "integer" }), integers);
cases("1.5 million integers of the wrong type", items({ type: "string" }), integers);
cases(
  "1.5 million integers, a set",
  items({ type: "integer" }, { "x-kubernetes-list-type": "set" }),
  integers,
);
cases(
  "1 million objects",
  items({ type: "object", properties: { a: { type: "string" } } }),
  objects,
);
cases(
  "1 million objects with a default each",
  items({ type: "object", properties: { a: { type: "string", default: "b" } } }),
  objects,
);
cases(
  "1 million objects, a set of objects",
  items({ type: "object", "x-kubernetes-map-type": "atomic" }, { "x-kubernetes-list-type": "set" }),
  objects,
);
cases(
  "150,000 objects with unknown fields, a map list",
  items(
    { type: "object", properties: { aaa: { type: "integer" } } },
    { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["aaa"] },
  ),
  unknown,
);
cases(
  "280,000 texts, an enum of 5,000",
  items({ type: "string", enum: Array.from({ length: 5_000 }, (_, i) => `v${i}`) }),
  texts,
);
cases("280,000 texts, a simple pattern", items({ type: "string", pattern: "^[a-h]+$" }), texts);
cases(
  "1.5 million integers, 100 alternatives",
  items({ type: "integer", anyOf: Array.from({ length: 100 }, (_, i) => ({ minimum: i + 2 })) }),
  integers,
);
let nested: JsonObject = { type: "integer" };
for (let i = 0; i < 13; i++) nested = { type: "integer", anyOf: [nested, nested] } as JsonObject;
cases("13 levels of two alternatives", under(nested), { x: "no integer" });

const hard = Array.from({ length: 4_000_000 / 68 }, (_, i) =>
  (i * 2654435761) % 7 < 3 ? "a" : "b",
).join("");
cases(
  "a hard pattern, as much text as allowed",
  under({ type: "string", pattern: "(a|b)*a(a|b){20}$" }),
  {
    x: `${hard}c`,
  },
);
cases("a hard pattern, 3 MiB of text", under({ type: "string", pattern: "(a|b)*a(a|b){20}$" }), {
  x: "ab".repeat(bodyBytes / 2),
});
cases("format hostname, 3 MiB of text", under({ type: "string", format: "hostname" }), {
  x: "a.".repeat(bodyBytes / 2),
});
cases("format email, 3 MiB of text", under({ type: "string", format: "email" }), {
  x: "a".repeat(bodyBytes),
});
cases("format byte, 3 MiB of text", under({ type: "string", format: "byte" }), {
  x: "YWJj".repeat(bodyBytes / 4),
});
cases("format duration, 1,000 characters", under({ type: "string", format: "duration" }), {
  x: "1".repeat(1_000),
});
cases("format uri, 3 MiB of text", under({ type: "string", format: "uri" }), {
  x: `http://a/${"%41".repeat(bodyBytes / 3)}`,
});
const deep = parseJson(`{"x":${"[".repeat(990)}${"]".repeat(990)}}`).value as JsonObject;
cases("990 levels, preserved", under({ "x-kubernetes-preserve-unknown-fields": true }), deep);
cases("990 levels, pruned", under({ type: "object", additionalProperties: true }), { x: deep });

function definition(schema: JsonObject): JsonObject {
  return defaultCustomResourceDefinition({
    metadata: { name: "foos.example.com" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "foos", kind: "Foo" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
}

function many(count: number, schema: (i: number) => JsonObject): JsonObject {
  const properties: { [key: string]: JsonValue } = {};
  for (let i = 0; i < count; i++) properties[`p${i}`] = schema(i);
  return { type: "object", properties };
}

const judge = (schema: JsonObject): unknown =>
  validateCustomResourceDefinition(readCustomResourceDefinition(definition(schema)).definition);
for (const [name, schema] of [
  ["19,999 fields", many(19_999, () => ({ type: "string" }))],
  ["19,999 fields that all differ", many(19_999, (i) => ({ type: "string", maxLength: i }))],
  ["19,000 defaults", many(19_000, (i) => ({ type: "string", default: `d${i}` }))],
  ["19,999 fields without types", many(19_999, () => ({}))],
  [
    "patterns up to their limit",
    many(1_000, (i) => ({
      type: "string",
      pattern: `^[a-z]{1,${(i % 60) + 1}}([-a-z0-9]*[a-z0-9])?(\\.x${i})*$`,
    })),
  ],
  [
    "Unicode patterns up to their limit",
    many(5, (i) => ({ type: "string", pattern: `(?i)${"\\pL".repeat(100)}${i}` })),
  ],
] as const) {
  worst(`judge a CRD: ${name}`, () => judge(schema));
  worst(`compile: ${name}`, () => compileSchema(schema).nodes);
}
