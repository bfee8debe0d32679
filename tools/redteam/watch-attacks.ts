/** Watches in every representation of large objects that change. */
import type { SeededRandom } from "@kcp-ts/testkit";
import { define, definitionsPath, hostilesPath, object } from "../bench/hold-case.ts";
import {
  type Attack,
  anyJson,
  get,
  patch,
  post,
  type Step,
  times,
  watchAccepts,
} from "./attack.ts";

const preserved = { "x-kubernetes-preserve-unknown-fields": true };

const watchQueries = [
  "",
  "&resourceVersion=0",
  "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
  "&labelSelector=a%3Db",
  "&fieldSelector=spec.name%3Dn",
  "&fieldSelector=metadata.name%3Dx",
] as const;

function anyWatch(random: SeededRandom, path: string): Step {
  return {
    ...get(
      `${path}?watch=true&timeoutSeconds=60${random.pick(watchQueries)}`,
      random.pick<string>(watchAccepts),
    ),
    ...(random.chance(0.2) ? { isUnread: true } : { isWatched: true }),
  };
}

const changing: Attack = {
  name: "watches of large objects that change",
  *steps({ random }) {
    const columns = times(random.integer(6), (i) => ({
      name: `c${i}`,
      type: "string",
      jsonPath: random.pick([".spec.any", ".spec.any[*]", ".spec.any..v", ".spec.name"]),
    }));
    const schema = object({ spec: object({ name: { type: "string" }, any: preserved }) });
    const version = {
      served: true,
      schema: { openAPIV3Schema: schema },
      additionalPrinterColumns: columns,
      selectableFields: [{ jsonPath: ".spec.name" }],
      subresources: random.chance(0.5) ? { status: {} } : {},
    };
    const versions = [
      { ...version, name: "v1", storage: true },
      { ...version, name: "v2", storage: false },
    ];
    yield { ...define({ schema, spec: { versions } }), waitsForDefinition: true };
    const other = hostilesPath.replace("/v1/", "/v2/");
    const watch = () => anyWatch(random, random.pick([hostilesPath, other]));
    const body = (name: string, label: string) =>
      `{"apiVersion":"hold.example.com/v1","kind":"Kindhostiles","metadata":{"name":"${name}","labels":{"a":"${label}"}},"spec":{"name":"n","any":${anyJson(random, 79_000)}}}`;
    for (let i = random.integer(3); i > 0; i--) yield post(hostilesPath, body(`o${i}`, "b"));
    for (let i = 1 + random.integer(8); i > 0; i--) yield watch();
    yield post(hostilesPath, body("x", "b"));
    const at = `${hostilesPath}/x`;
    for (let i = 1 + random.integer(6); i > 0; i--) {
      yield random.pick([
        patch(at, "merge-patch+json", { metadata: { labels: { a: random.pick(["b", "c"]) } } }),
        patch(at, "merge-patch+json", { spec: { name: random.pick(["n", "m"]) } }),
        patch(at, "merge-patch+json", `{"spec":{"any":${anyJson(random, 79_000)}}}`),
        patch(`${at}?fieldManager=w&force=true`, "apply-patch+yaml", body("x", "b")),
        { ...post(at, body("x", "c")), method: "PUT" as const },
        watch(),
        get(random.pick([other, `${other}/x`]), random.pick<string>(watchAccepts)),
        // Objects that were stored before are converted to the new schema.
        patch(`${definitionsPath}/hostiles.hold.example.com`, "json-patch+json", [
          {
            op: "add",
            path: `/spec/versions/0/schema/openAPIV3Schema/properties/new${i}`,
            value: { type: "string", default: "d" },
          },
        ]),
      ]);
    }
    yield { method: "DELETE", path: random.pick([at, hostilesPath]) };
  },
};

export const watchAttacks: readonly Attack[] = [changing];
