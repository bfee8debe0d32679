/** The most expensive custom objects, and what can be done to them. */
import {
  define,
  fill,
  type HoldCase,
  type HostileRequest,
  hostilesPath,
  object,
  text,
} from "./hold-case.ts";

const items = (item: object, more: object = {}) =>
  object({ x: { type: "array", items: item, ...more } });

const apiVersion = "hold.example.com/v1";
const kind = "Kindhostiles";

function body(name: string, members: string): string {
  return `{"apiVersion":"${apiVersion}","kind":"${kind}","metadata":{"name":"${name}"},${members}}`;
}

const create = (name: string, members: string): HostileRequest => ({
  method: "POST",
  path: hostilesPath,
  body: body(name, members),
});

const apply = (name: string, members: string, manager = "m"): HostileRequest => ({
  method: "PATCH",
  path: `${hostilesPath}/${name}?fieldManager=${manager}&force=true`,
  contentType: "application/apply-patch+yaml",
  body: body(name, members),
});

/** Created, updated and applied. */
function written(name: string, schema: object, members: string): HoldCase[] {
  const before = [define({ schema })];
  return [
    { name: `create: ${name}`, before, request: (n) => create(`x${n}`, members) },
    {
      name: `update: ${name}`,
      before: [...before, create("x", members)],
      request: (n) => ({
        method: "PATCH",
        path: `${hostilesPath}/x`,
        contentType: "application/merge-patch+json",
        body: `{"metadata":{"labels":{"n":"${n}"}},${members}}`,
      }),
    },
    { name: `apply: ${name}`, before, request: (n) => apply(`x${n}`, members) },
    {
      name: `apply by another manager: ${name}`,
      before: [...before, apply("x", members)],
      request: (n) => apply("x", members, `m${n}`),
    },
  ];
}

const many = (count: number, item: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => item(i)).join();

const keyed = (count: number) => `[${many(count, (i) => `{"k":"k${i}","v":1}`)}]`;

const texts = (count: number) => `[${many(count, (i) => `"t${String(i).padStart(7, "0")}"`)}]`;

/**
 * Objects are as large as they may be when they have this many values, or this many items that are
 * owned one by one.
 */
const valuesMax = 79_900;
const ownedItemsMax = 6_000;

const mapList = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] };
const set = { "x-kubernetes-list-type": "set" };
const keyedItem = object({ k: text, v: { type: "integer" } }, { required: ["k"] });
const defaulted = object({ a: { ...text, default: "b" } });
const preserved = { "x-kubernetes-preserve-unknown-fields": true };
const hard = { ...text, pattern: "(a|b)*a(a|b){20}$" };

const alternatives = {
  ...text,
  oneOf: Array.from({ length: 15 }, (_, i) => (i === 14 ? {} : { maxLength: i % 7 })),
};

const rule = (expression: string) => ({ "x-kubernetes-validations": [{ rule: expression }] });

const writtenCases = [
  ...written("1.5 million integers", items({ type: "integer" }), `"x":${fill("1")}`),
  ...written("79,900 integers", items({ type: "integer" }), `"x":[${many(valuesMax, () => "1")}]`),
  ...written(
    "79,900 integers of the wrong type",
    items(text),
    `"x":[${many(valuesMax, () => "1")}]`,
  ),
  ...written(
    "79,900 integers, one of them large",
    items({ type: "integer" }),
    `"x":[9007199254740993,${many(valuesMax - 10, () => "1")}]`,
  ),
  ...written(
    "26,000 objects with a default",
    items(defaulted),
    `"x":[${many(26_000, () => "{}")}]`,
  ),
  ...written(
    "19,000 objects with unknown fields",
    items(object({ a: text })),
    `"x":[${many(19_000, () => '{"aaa":1,"b":{"c":1}}')}]`,
  ),
  ...written(
    "19,000 objects of 100 bytes with unknown fields",
    items(object({ a: text })),
    `"x":[${many(19_000, (i) => `{"aaa":"${"x".repeat(80)}${i}","b":{"c":1}}`)}]`,
  ),
  ...written("a map list of 150,000", items(keyedItem, mapList), `"x":${keyed(150_000)}`),
  ...written("a map list of 6,000", items(keyedItem, mapList), `"x":${keyed(ownedItemsMax)}`),
  ...written("a set of 6,000 texts", items(text, set), `"x":${texts(ownedItemsMax)}`),
  ...written("a body of 99,000 texts", items(text), `"x":${texts(99_000)}`),
  ...written("a set of 79,000 texts", items(text, set), `"x":${texts(79_000)}`),
  ...written(
    "a set of equal texts",
    items(text, set),
    `"x":[${many(ownedItemsMax, () => '"abcdefgh"')}]`,
  ),
  ...written(
    "79,900 texts, a pattern",
    items({ ...text, pattern: "^[a-z0-9]+$" }),
    `"x":${texts(valuesMax)}`,
  ),
  ...written(
    "3 MiB of text, a hard pattern",
    object({ x: hard }),
    `"x":"${"ab".repeat(1_500_000)}"`,
  ),
  ...written(
    "30,000 characters, a hard pattern",
    object({ x: hard }),
    `"x":"${"ab".repeat(15_000)}"`,
  ),
  ...written(
    "12,000 characters, a hard pattern",
    object({ x: hard }),
    `"x":"${"ab".repeat(6_000)}"`,
  ),
  ...written(
    "10,000 texts, a pattern",
    items({ ...text, pattern: "^[a-z0-9]+$" }),
    `"x":${texts(10_000)}`,
  ),
  ...written(
    "79,900 texts, each with 15 alternatives",
    items(alternatives),
    `"x":${texts(valuesMax)}`,
  ),
  ...written(
    "79,900 texts below alternatives",
    object({ x: { type: "array", items: text, anyOf: [{ items: { maxLength: 1 } }, {}] } }),
    `"x":${texts(valuesMax)}`,
  ),
  ...written(
    "20,000 texts below alternatives",
    object({ x: { type: "array", items: text, anyOf: [{ items: { maxLength: 1 } }, {}] } }),
    `"x":${texts(20_000)}`,
  ),
  ...written(
    "anything, 900 levels",
    object({ x: preserved }),
    `"x":${"[".repeat(900)}[${many(78_000, () => "1")}]${"]".repeat(900)}`,
  ),
  ...written(
    "anything, 79,900 keys",
    object({ x: { type: "object", ...preserved } }),
    `"x":{${many(valuesMax, (i) => `"key${i}":1`)}}`,
  ),
  ...written(
    "anything, 24,000 objects of two keys",
    object({ x: { type: "object", ...preserved } }),
    `"x":{${many(24_000, (i) => `"key${i}":{"a":1,"b":2}`)}}`,
  ),
  ...written(
    "one rule over pairs of 700 texts",
    items(
      { ...text, maxLength: 10 },
      { maxItems: 700, ...rule("self.all(a, self.exists(b, a == b))") },
    ),
    `"x":${texts(700)}`,
  ),
  ...written(
    "ten rules over pairs of 400 texts",
    object(
      Object.fromEntries(
        Array.from({ length: 10 }, (_, i) => [
          `x${i}`,
          {
            type: "array",
            items: { ...text, maxLength: 10 },
            maxItems: 400,
            ...rule("self.all(a, self.exists(b, a == b))"),
          },
        ]),
      ),
    ),
    Array.from({ length: 10 }, (_, i) => `"x${i}":${texts(400)}`).join(),
  ),
  ...written(
    "a rule for each of 79,000 items",
    items(
      {
        ...text,
        maxLength: 10,
        ...rule("self.startsWith('t') && self.size() > 0 && self != 'no'"),
      },
      { maxItems: 79_000 },
    ),
    `"x":${texts(79_000)}`,
  ),
];

const patchable = define({ schema: items(keyedItem, mapList) });

const patchCases: HoldCase[] = [
  {
    name: "JSON patch of 10,000 operations, at the front of a long list",
    before: [
      define({ schema: items({ type: "integer" }) }),
      create("x", `"x":${fill("1", 150_000)}`),
    ],
    request: () => ({
      method: "PATCH",
      path: `${hostilesPath}/x`,
      contentType: "application/json-patch+json",
      body: JSON.stringify(
        Array.from({ length: 10_000 }, () => ({ op: "add", path: "/x/0", value: 1 })),
      ),
    }),
  },
  {
    name: "JSON patch of 10,000 operations, tests of a large value",
    before: [
      define({ schema: items({ type: "integer" }) }),
      create("x", `"x":${fill("1", 150_000)}`),
    ],
    request: () => ({
      method: "PATCH",
      path: `${hostilesPath}/x`,
      contentType: "application/json-patch+json",
      body: JSON.stringify([
        { op: "copy", from: "/x", path: "/y" },
        ...Array.from({ length: 9_999 }, () => ({ op: "copy", from: "/x", path: "/y" })),
      ]),
    }),
  },
  {
    name: "merge patch of a map list of 6,000",
    before: [patchable, create("x", `"x":${keyed(ownedItemsMax)}`)],
    request: () => ({
      method: "PATCH",
      path: `${hostilesPath}/x`,
      contentType: "application/merge-patch+json",
      body: `{"x":${keyed(ownedItemsMax)}}`,
    }),
  },
  {
    name: "strategic merge patch of a map list of 6,000",
    before: [
      define({
        group: "apps",
        plural: "deployments",
        spec: { names: { plural: "deployments", kind: "Deployment" } },
        schema: object({ x: { type: "array", items: keyedItem, ...mapList } }),
      }),
      {
        method: "POST",
        path: "/apis/apps/v1/namespaces/default/deployments",
        body: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"x":${keyed(ownedItemsMax)}}`,
      },
    ],
    request: () => ({
      method: "PATCH",
      path: "/apis/apps/v1/namespaces/default/deployments/x",
      contentType: "application/strategic-merge-patch+json",
      body: `{"x":${keyed(5_000)}}`,
    }),
  },
];

const tableAccept = "application/json;as=Table;g=meta.k8s.io;v=v1";

const readCases: HoldCase[] = [
  {
    name: "a table of 500 objects of 6 KB with 20 filtering columns",
    before: [
      define({
        schema: items(keyedItem),
        version: {
          additionalPrinterColumns: Array.from({ length: 20 }, (_, i) => ({
            name: `c${i}`,
            type: "string",
            jsonPath: `.x[?(@.k=="k${i}")].v`,
          })),
        },
      }),
      ...Array.from({ length: 500 }, (_, i) => create(`x${i}`, `"x":${keyed(300)}`)),
    ],
    request: () => ({ method: "GET", path: hostilesPath, accept: tableAccept }),
  },
  {
    name: "a table of one object with a list of 10,000 with 20 filtering columns",
    before: [
      define({
        schema: items(keyedItem),
        version: {
          additionalPrinterColumns: Array.from({ length: 20 }, (_, i) => ({
            name: `c${i}`,
            type: "string",
            jsonPath: `.x[?(@.k=="k${i}")].v`,
          })),
        },
      }),
      create("x", `"x":${keyed(10_000)}`),
    ],
    request: () => ({ method: "GET", path: hostilesPath, accept: tableAccept }),
  },
  {
    name: "a selector by field over 40 objects with a list of 10,000",
    before: [
      define({
        schema: object({ a: text, x: { type: "array", items: keyedItem } }),
        version: { selectableFields: [{ jsonPath: ".a" }] },
      }),
      ...Array.from({ length: 40 }, (_, i) => create(`x${i}`, `"a":"v","x":${keyed(10_000)}`)),
    ],
    request: () => ({ method: "GET", path: `${hostilesPath}?fieldSelector=a%3Dother` }),
  },
  {
    name: "a list of 8 objects with a list of 10,000 in another version",
    before: [
      define({
        schema: items(keyedItem),
        spec: {
          versions: ["v1", "v2"].map((name) => ({
            name,
            served: true,
            storage: name === "v1",
            schema: {
              openAPIV3Schema: items(keyedItem, name === "v2" ? { maxItems: 1_000_000 } : {}),
            },
          })),
        },
      }),
      ...Array.from({ length: 8 }, (_, i) => create(`x${i}`, `"x":${keyed(10_000)}`)),
    ],
    request: () => ({ method: "GET", path: hostilesPath.replace("/v1/", "/v2/") }),
  },
];

export const objectCases: readonly HoldCase[] = [...writtenCases, ...patchCases, ...readCases];
