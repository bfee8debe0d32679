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
        method: "PUT",
        path: `${hostilesPath}/x`,
        body: body("x", `"n":${n},${members}`).replace(
          '"name":"x"',
          `"name":"x","labels":{"n":"${n}"}`,
        ),
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

const keyed = (bytes = 3_100_000) => {
  const list: string[] = [];
  for (let length = 0, i = 0; length < bytes; i++) {
    const item = `{"k":"k${i}","v":1}`;
    list.push(item);
    length += item.length + 1;
  }
  return `[${list.join()}]`;
};

const distinctTexts = (bytes = 3_100_000) =>
  `[${Array.from({ length: Math.floor(bytes / 11) }, (_, i) => `"t${String(i).padStart(7, "0")}"`).join()}]`;

const mapList = {
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["k"],
};
const keyedItem = object({ k: text, v: { type: "integer" } }, { required: ["k"] });

const rule = (expression: string) => ({ "x-kubernetes-validations": [{ rule: expression }] });

const writtenCases = [
  ...written("1.5 million integers", items({ type: "integer" }), `"x":${fill("1")}`),
  ...written("1.5 million integers of the wrong type", items(text), `"x":${fill("1")}`),
  ...written(
    "1 million objects with a default",
    items(object({ a: { ...text, default: "b" } })),
    `"x":${fill("{}")}`,
  ),
  ...written(
    "90,000 objects with a default",
    items(object({ a: { ...text, default: "b" } })),
    `"x":${fill("{}", 270_000)}`,
  ),
  ...written("unknown fields", items(object({ a: text })), `"x":${fill('{"aaa":1,"b":{"c":1}}')}`),
  ...written("a map list of 150,000", items(keyedItem, mapList), `"x":${keyed()}`),
  ...written(
    "a set of 280,000 texts",
    items(text, { "x-kubernetes-list-type": "set" }),
    `"x":${distinctTexts()}`,
  ),
  ...written(
    "a set of equal texts",
    items(text, { "x-kubernetes-list-type": "set" }),
    `"x":${fill('"abcdefgh"')}`,
  ),
  ...written(
    "280,000 texts, a pattern",
    items({ ...text, pattern: "^[a-z0-9]+$" }),
    `"x":${distinctTexts()}`,
  ),
  ...written(
    "3 MiB of text, a hard pattern",
    object({ x: { ...text, pattern: "(a|b)*a(a|b){20}$" } }),
    `"x":"${"ab".repeat(1_500_000)}"`,
  ),
  ...written(
    "30,000 characters, a hard pattern",
    object({ x: { ...text, pattern: "(a|b)*a(a|b){20}$" } }),
    `"x":"${"ab".repeat(15_000)}"`,
  ),
  ...written(
    "anything, deep",
    object({ x: { "x-kubernetes-preserve-unknown-fields": true } }),
    `"x":${"[".repeat(900)}${fill("1", 2_500_000)}${"]".repeat(900)}`,
  ),
  ...written(
    "anything, 150,000 keys",
    object({ x: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }),
    `"x":{${Array.from({ length: 180_000 }, (_, i) => `"key${i}":1`).join()}}`,
  ),
  ...written(
    "one rule over 1,000 texts",
    items(text, { maxItems: 1_000, ...rule("self.all(a, self.exists(b, a == b))") }),
    `"x":${distinctTexts(11_000)}`,
  ),
  ...written(
    "a rule for each of 100,000 items",
    items(
      {
        ...text,
        maxLength: 10,
        ...rule("self.size() > 0 && self != 'nothing' && self.startsWith('t')"),
      },
      { maxItems: 120_000 },
    ),
    `"x":${distinctTexts(1_100_000)}`,
  ),
];

const patchable = define({ schema: items(keyedItem, mapList) });

const patchCases: HoldCase[] = [
  {
    name: "JSON patch of 10,000 operations, at the front of a long list",
    before: [
      define({ schema: items({ type: "integer" }) }),
      create("x", `"x":${fill("1", 200_000)}`),
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
      create("x", `"x":${fill("1", 200_000)}`),
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
    name: "merge patch of 3 MiB",
    before: [patchable, create("x", `"x":${keyed()}`)],
    request: () => ({
      method: "PATCH",
      path: `${hostilesPath}/x`,
      contentType: "application/merge-patch+json",
      body: `{"x":${keyed()}}`,
    }),
  },
  {
    name: "strategic merge patch of 3 MiB, 150,000 keys",
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
        body: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"x":${keyed()}}`,
      },
    ],
    request: () => ({
      method: "PATCH",
      path: "/apis/apps/v1/namespaces/default/deployments/x",
      contentType: "application/strategic-merge-patch+json",
      body: `{"x":${keyed(3_000_000)}}`,
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
      ...Array.from({ length: 500 }, (_, i) => create(`x${i}`, `"x":${keyed(6_000)}`)),
    ],
    request: () => ({ method: "GET", path: hostilesPath, accept: tableAccept }),
  },
  {
    name: "a table of one object of 3 MiB with 20 filtering columns",
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
      create("x", `"x":${keyed()}`),
    ],
    request: () => ({ method: "GET", path: hostilesPath, accept: tableAccept }),
  },
  {
    name: "a selector by field over 8 objects of 3 MiB",
    before: [
      define({
        schema: object({ a: text, x: { type: "array", items: keyedItem } }),
        version: { selectableFields: [{ jsonPath: ".a" }] },
      }),
      ...Array.from({ length: 8 }, (_, i) => create(`x${i}`, `"a":"v","x":${keyed()}`)),
    ],
    request: () => ({ method: "GET", path: `${hostilesPath}?fieldSelector=a%3Dother` }),
  },
  {
    name: "a list of 8 objects of 3 MiB in another version",
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
      ...Array.from({ length: 8 }, (_, i) => create(`x${i}`, `"x":${keyed()}`)),
    ],
    request: () => ({ method: "GET", path: hostilesPath.replace("/v1/", "/v2/") }),
  },
];

export const objectCases: readonly HoldCase[] = [...writtenCases, ...patchCases, ...readCases];
