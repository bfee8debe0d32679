/** Custom objects: their definitions, columns, keys, numbers and patches. */
import type { SeededRandom } from "@kcp-ts/testkit";
import { define, fields, type HoldCase, hostilesPath, object, text } from "../bench/hold-case.ts";
import { definitionCases } from "../bench/hold-definitions.ts";
import { objectCases } from "../bench/hold-objects.ts";
import {
  type Attack,
  anyJson,
  anySize,
  get,
  metadataAccept,
  post,
  tableAccept,
  times,
} from "./attack.ts";

const preserved = { "x-kubernetes-preserve-unknown-fields": true };

const body = (members: string, name = "x") =>
  `{"apiVersion":"hold.example.com/v1","kind":"Kindhostiles","metadata":{"name":"${name}"},${members}}`;

const defined = (schema: object, version: object = {}) => ({
  ...define({ schema, version }),
  waitsForDefinition: true,
});

const column = (jsonPath: string, i: number) => ({ name: `c${i}`, type: "string", jsonPath });

const reads = (random: SeededRandom) =>
  [
    get(hostilesPath),
    get(hostilesPath, tableAccept),
    get(hostilesPath, "application/yaml"),
    get(hostilesPath, metadataAccept),
    get(`${hostilesPath}/x`, tableAccept),
    get(`${hostilesPath}?labelSelector=a%3Db`),
    get(`${hostilesPath}?watch=true&timeoutSeconds=1`),
    get(`${hostilesPath}?watch=true&timeoutSeconds=1`, tableAccept),
  ].filter(() => random.chance(0.5));

const slices: Attack = {
  name: "columns with slices and unions",
  *steps({ random }) {
    const part = random.pick([
      "[:,:]",
      "[*,*]",
      "[::1,::1]",
      "[0,0,0]",
      "[-1:]",
      "..a",
      "['a','a']",
    ]);
    const path = `.spec.any${part.replace(/[,]/g, `,${part.slice(1, -1)},`.repeat(1 + random.integer(40)))}`;
    const columns = times(1 + random.integer(20), (i) => column(path.slice(0, 4000), i));
    const schema = object({ spec: object({ any: preserved }) });
    yield defined(schema, { additionalPrinterColumns: columns });
    yield post(hostilesPath, body(`"spec":{"any":${anyJson(random, 79_000)}}`));
    yield get(`${hostilesPath}/x`, tableAccept);
    yield* reads(random);
  },
};

const integerKeys: Attack = {
  name: "keys that are integers, and metadata in strange places",
  *steps({ random }) {
    yield defined({ type: "object", ...preserved });
    const forged = '{"metadata":{"labels":{"a":"b"},"name":"z","finalizers":["x/y"]}}';
    const members = times(1 + random.integer(200), (i) => `"${i}":${forged}`).join();
    yield post(hostilesPath, body(`${members},"spec":${anyJson(random, 60_000)}`));
    yield post(hostilesPath, body('"0":{"metadata":{}}', "y"));
    yield* reads(random);
    yield { method: "DELETE", path: hostilesPath };
  },
};

const numbers: Attack = {
  name: "numbers of every size",
  *steps({ random }) {
    const schema = object({
      d: { type: "number", minimum: 0 },
      i: { type: "integer", format: "int64" },
      any: preserved,
    });
    yield defined(schema);
    const digits = anySize(random, 2_900_000);
    const number = () =>
      random.pick([
        "1e400",
        "-1e400",
        "1e-400",
        "-0",
        "9223372036854775807",
        "9223372036854775808",
        "9007199254740993",
        "1e2",
        "1.0",
        "9".repeat(digits),
        `1.${"9".repeat(digits)}`,
        `1e${"9".repeat(Math.min(digits, 1000))}`,
      ]);
    for (const field of ["d", "i", "any"]) {
      yield post(hostilesPath, body(`"${field}":${number()}`, field));
      yield {
        ...post(hostilesPath, body(`"${field}":${number()}`, `y${field}`)),
        contentType: "application/yaml",
      };
    }
    yield* reads(random);
  },
};

const patches: Attack = {
  name: "patches that copy, append and merge",
  *steps({ random }) {
    yield defined(object({ spec: { type: "object", ...preserved } }));
    yield post(hostilesPath, body(`"spec":{"a":${anyJson(random, 20_000)}}`));
    const operations = times(1 + random.integer(60), (i) => ({
      op: random.pick(["copy", "add", "move", "test", "replace"]),
      from: i === 0 ? "/spec/a" : `/spec/c${random.integer(i)}`,
      path: random.pick([
        `/spec/c${i}`,
        `/spec/c${i}`,
        `/spec/a/${random.integer(9)}`,
        "/spec/a/-",
      ]),
      value: 1,
    }));
    const path = `${hostilesPath}/x`;
    yield {
      method: "PATCH",
      path,
      contentType: "application/json-patch+json",
      body: JSON.stringify(operations),
    };
    yield {
      method: "PATCH",
      path,
      contentType: "application/merge-patch+json",
      body: `{"spec":{"a":${anyJson(random, 79_000)}}}`,
    };
    for (let i = 0; i < 1 + random.integer(5); i++) {
      yield {
        method: "PATCH",
        path: `${path}?fieldManager=m${i}&force=true`,
        contentType: "application/apply-patch+yaml",
        body: body(`"spec":{"m${i}":${anyJson(random, 30_000)}}`),
      };
    }
    yield* reads(random);
  },
};

const definitions: Attack = {
  name: "definitions of any size",
  *steps({ random }) {
    const leaf = random.pick<object>([
      text,
      { ...text, pattern: `(a|b)*a(a|b){${random.integer(200)}}$` },
      { ...text, enum: times(anySize(random, 2000), (i) => `e${i}`) },
      { ...text, default: "d".repeat(anySize(random, 1000)) },
      object({ a: text }, { "x-kubernetes-validations": [{ rule: "has(self.a)" }] }),
    ]);
    yield defined({
      ...fields(anySize(random, 3000), () => leaf),
      ...(random.chance(0.5) ? preserved : {}),
    });
    yield post(hostilesPath, body(`"f0":${anyJson(random, 79_000)}`));
    yield get(random.pick(["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/hold.example.com/v1"]));
    yield* reads(random);
  },
};

const openApi: Attack = {
  name: "OpenAPI of many large definitions",
  *steps({ random }) {
    const bytes = random.chance(0.5) ? 900_000 : anySize(random, 900_000);
    const leaf = random.pick<(i: number) => object>([
      () => ({ ...text, description: "d".repeat(Math.min(bytes, 500)) }),
      (i) => ({ ...text, maxLength: i }),
      () => ({ "x-kubernetes-int-or-string": true }),
      () => ({ type: "object", "x-kubernetes-embedded-resource": true, ...preserved }),
      () => ({ type: "array", items: text, "x-kubernetes-list-type": "set" }),
    ]);
    const leafBytes = JSON.stringify(leaf(1)).length + 12;
    const schema = fields(Math.min(7_900, 1 + Math.floor(bytes / leafBytes)), leaf);
    const ownGroup = random.chance(0.5);
    const count = 1 + random.integer(40);
    for (let i = 0; i < count; i++) {
      const group = ownGroup ? `g${i}.example.com` : "hold.example.com";
      yield { ...define({ schema, plural: `p${i}`, group }), waitsForDefinition: true };
    }
    for (const path of ["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/hold.example.com/v1"])
      yield get(path);
    yield get("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
  },
};

/** One of the requests that the benchmark of holds knows. */
const knownCases: Attack = {
  name: "a known request",
  *steps({ random }) {
    const known = [...definitionCases, ...objectCases] as [HoldCase, ...HoldCase[]];
    const { before = [], request } = random.pick(known);
    for (const each of before) yield { ...each, waitsForDefinition: true };
    yield request(0);
    yield request(1);
  },
};

export const objectAttacks: readonly Attack[] = [
  slices,
  integerKeys,
  numbers,
  patches,
  definitions,
  openApi,
  knownCases,
];
