/** The most expensive definitions that pass the limits, and some that do not. */
import {
  define,
  definition,
  definitionsPath,
  fields,
  type HoldCase,
  type HostileDefinition,
  object,
  text,
} from "./hold-case.ts";

const rules = (list: readonly string[]) => ({
  "x-kubernetes-validations": list.map((rule) => ({ rule })),
});

const creating = (
  name: string,
  schema: object,
  more: Partial<HostileDefinition> = {},
): HoldCase => ({
  name: `create a definition: ${name}`,
  request: (n) => define({ ...more, schema, plural: `p${n}` }),
});

const repeated = (count: number, part: string, between: string) =>
  Array.from({ length: count }, () => part).join(between);

const manyRules = (count: number, rule: string) =>
  object({ a: text }, rules(Array.from({ length: count }, (_, i) => `${rule} || ${i} == ${i}`)));

function nested(levels: number, inner: object, more: (level: number) => object): object {
  let schema = inner;
  for (let level = 0; level < levels; level++) schema = object({ x: schema }, more(level));
  return schema;
}

const patterns = (count: number) =>
  fields(count, (i) => ({ ...text, pattern: `^(a${i}|b*)+c{1,30}$` }));

const wideDefaults = fields(11_990, () => ({ ...text, default: "x" }));

const longRules: readonly (readonly [string, string])[] = [
  ["one rule of 32,000 characters, or", repeated(1_800, "self.a == 'x'", " || ")],
  ["one rule of 32,000 characters, plus", `${repeated(8_000, "1", " + ")} > 0`],
  ["one rule of 32,000 characters, a list", `self.a in [${repeated(6_400, "'ab'", ",")}]`],
  [
    "one rule of 32,000 characters, a map",
    `{${Array.from({ length: 2_000 }, (_, i) => `${i}:self.a`).join()}}[1] == 'a'`,
  ],
  ["one rule of 32,000 characters, calls", repeated(1_200, "self.a.contains('abcd')", " && ")],
  ["one rule, 12 nested comprehensions", `${"[1,2].all(x, ".repeat(12)}true${")".repeat(12)}`],
  ["one rule, optMap doubled", `optional.of(1)${".optMap(x, x + x)".repeat(60)}.hasValue()`],
  ["one rule, 200 levels of parentheses", `${"(".repeat(120)}true${")".repeat(120)}`],
  ["one rule, every name unknown", repeated(2_000, "nope.no == 1", " || ")],
  ["one rule of bad text", repeated(8_000, "#", " + ")],
];

const large = object({ a: text, wide: fields(11_000, () => text) });

export const definitionCases: readonly HoldCase[] = [
  creating(
    "11,990 fields",
    fields(11_990, () => text),
  ),
  creating(
    "11,990 fields that differ",
    fields(11_990, (i) => ({ ...text, maxLength: i })),
  ),
  creating("11,990 fields with defaults", wideDefaults),
  creating(
    "20,000 fields, over the limit",
    fields(20_000, () => text),
  ),
  creating("1,000 rules", manyRules(990, "self.a == 'x'")),
  creating("100 rules of 20 terms", manyRules(100, repeated(18, "self.a == 'x'", " || "))),
  ...longRules.map(([name, rule]) => creating(name, object({ a: text }, rules([rule])))),
  creating(
    "a rule at each of 120 levels above 11,000 fields",
    nested(
      120,
      fields(11_000, () => text),
      (level) => rules([`has(self.x) || ${level} > 0`]),
    ),
  ),
  creating(
    "900 fields with rules, all different",
    fields(900, (i) => ({ ...text, maxLength: i + 1, ...rules([`self != 'a${i}'`]) })),
  ),
  creating("500 patterns", patterns(500)),
  creating(
    "100 Unicode patterns",
    fields(100, (i) => ({ ...text, pattern: `(?i)\\pL\\pN${i}` })),
  ),
  creating(
    "60 enums of 5,000",
    fields(60, () => ({ ...text, enum: Array.from({ length: 5_000 }, (_, i) => `e${i}`) })),
  ),
  creating(
    "120 levels",
    nested(120, text, () => ({})),
  ),
  creating(
    "3 MB of descriptions, over the limit",
    fields(5_000, () => ({ ...text, description: "d".repeat(550) })),
  ),
  creating(
    "1 MiB of descriptions",
    fields(1_750, () => ({ ...text, description: "d".repeat(550) })),
  ),
  creating(
    "1 MiB of descriptions and 11,900 fields",
    fields(11_900, (i) => ({ ...text, maxLength: i, description: "d".repeat(24) })),
  ),
  creating("two versions of 7,990 fields", object({ a: text }), {
    spec: {
      versions: ["v1", "v2"].map((name, version) => ({
        name,
        served: true,
        storage: version === 0,
        schema: {
          openAPIV3Schema: fields(7_990, (i) => ({ ...text, maxLength: 2 * i + version })),
        },
      })),
    },
  }),
  creating(
    "a default of 2 MB",
    object({
      a: {
        type: "array",
        items: { type: "integer" },
        default: Array.from({ length: 700_000 }, () => 1),
      },
    }),
  ),
  creating(
    "allOf of 5,000",
    object({ a: { ...text, allOf: Array.from({ length: 5_000 }, (_, i) => ({ maxLength: i })) } }),
  ),
  creating("10,000 columns", object({ a: text }), {
    version: {
      additionalPrinterColumns: Array.from({ length: 10_000 }, (_, i) => ({
        name: `c${i}`,
        type: "string",
        jsonPath: ".a.b[?(@.c=='d')].e",
      })),
    },
  }),
  creating("5,000 versions", object({ a: text }), {
    spec: {
      versions: Array.from({ length: 5_000 }, (_, i) => ({
        name: `v${i + 1}`,
        served: true,
        storage: i === 0,
        schema: { openAPIV3Schema: object({ a: text }) },
      })),
    },
  }),
  creating("100,000 short names", object({ a: text }), {
    spec: {
      names: {
        plural: "p0",
        kind: "Kindp0",
        shortNames: Array.from({ length: 100_000 }, (_, i) => `s${i}`),
      },
    },
  }),
  {
    name: "update a definition: 11,000 fields, a rule and a default more",
    before: [define({ schema: large, plural: "p0" })],
    request: (n) => ({
      method: "PATCH",
      path: `${definitionsPath}/p0.hold.example.com`,
      contentType: "application/json-patch+json",
      body: JSON.stringify([
        {
          op: "add",
          path: `/spec/versions/0/schema/openAPIV3Schema/properties/more${n}`,
          value: { ...text, default: "x", ...rules([`self != 'a${n}'`]) },
        },
      ]),
    }),
  },
  {
    name: "apply a definition: 11,000 fields",
    request: (n) => ({
      method: "PATCH",
      path: `${definitionsPath}/p${n}.hold.example.com?fieldManager=m`,
      contentType: "application/apply-patch+yaml",
      body: JSON.stringify(definition({ schema: large, plural: `p${n}` })),
    }),
  },
  {
    name: "first object of a definition with 11,000 fields and 900 rules",
    before: [
      define({
        schema: object({
          wide: fields(10_000, () => text),
          ruled: fields(900, (i) => ({ ...text, maxLength: i + 1, ...rules([`self != 'a${i}'`]) })),
        }),
      }),
    ],
    request: (n) => ({
      method: "POST",
      path: "/apis/hold.example.com/v1/namespaces/default/hostiles",
      body: JSON.stringify({
        apiVersion: "hold.example.com/v1",
        kind: "Kindhostiles",
        metadata: { name: `x${n}` },
        ruled: Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`f${i}`, ""])),
      }),
    }),
  },
  {
    name: "OpenAPI v2 of a definition with 11,000 fields",
    before: [define({ schema: large })],
    request: () => ({ method: "GET", path: "/openapi/v2" }),
  },
  ...["/openapi/v2", "/openapi/v3/apis/hold.example.com/v1"].map(
    (path): HoldCase => ({
      name: `OpenAPI of 8 definitions with 11,000 fields: ${path}`,
      before: Array.from({ length: 8 }, (_, i) => define({ schema: large, plural: `p${i}` })),
      request: () => ({ method: "GET", path }),
    }),
  ),
  {
    name: "OpenAPI v3 of a definition with 11,000 fields",
    before: [define({ schema: large })],
    request: () => ({ method: "GET", path: "/openapi/v3/apis/hold.example.com/v1" }),
  },
];
