/** Watches in every representation of large objects that change. */
import type { SeededRandom } from "@kcp-ts/testkit";
import { define, definitionsPath, hostilesPath, object } from "../bench/hold-case.ts";
import { memberToken } from "../bench/server-process.ts";
import {
  type Attack,
  accepts,
  anyJson,
  anySize,
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

const configMaps = "/api/v1/namespaces/default/configmaps";

/** Watches over HTTP/1.1 and WebSockets; their connections are never read. */
const otherProtocols: Attack = {
  name: "unread watches over HTTP/1.1 and WebSockets",
  *steps({ random, connections, workspace }) {
    const head = (accept: string) =>
      `GET /clusters/root:${workspace}${configMaps}?watch=true HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${memberToken}\r\naccept: ${accept}\r\n`;
    const upgrade =
      "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    for (let i = 1 + random.integer(3); i > 0; i--) {
      const accept = random.pick<string>(watchAccepts);
      connections.open(random.integer(40), { text: `${head(accept)}\r\n` });
      connections.open(random.integer(40), { text: `${head(accept)}${upgrade}\r\n` });
      // Requests behind a watch on the same connection.
      connections.open(random.integer(5), { text: `${head(accept)}\r\n`.repeat(50) });
    }
    for (let i = 2 + random.integer(8); i > 0; i--)
      yield post(configMaps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: `c${i}` },
        data: { k: random.pick(["x", "世", "\n"]).repeat(anySize(random, 300_000)) },
      });
    for (let i = 0; i < 4; i++)
      yield patch(`${configMaps}/c1`, "merge-patch+json", { data: { more: `v${i}` } });
    yield { method: "DELETE", path: configMaps };
  },
};

/** Requests that their client resets, at once and while they are answered. */
const resets: Attack = {
  name: "requests that are reset",
  *steps({ random }) {
    const body = () => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { generateName: "c" },
      data: { k: "v".repeat(anySize(random, 900_000)) },
    });
    for (let i = 2 + random.integer(6); i > 0; i--) yield post(configMaps, body());
    for (let i = 10 + random.integer(30); i > 0; i--) {
      const step = random.pick<Step>([
        post(configMaps, body()),
        get(configMaps, random.pick<string>(accepts)),
        get(`${configMaps}?watch=true`, random.pick<string>(watchAccepts)),
        get(random.pick(["/openapi/v2", "/openapi/v3/api/v1", "/apis"])),
        { method: "HEAD", path: `${configMaps}?watch=true` },
        { method: "OPTIONS", path: `${configMaps}?watch=true` },
        { ...post(configMaps, JSON.stringify(body())), contentType: "application/yaml" },
        { method: "DELETE", path: configMaps },
      ]);
      const copies = 1 + random.integer(8);
      yield { ...step, copies, resetAfterMs: random.pick([0, 0, 1, 5, 20]) };
    }
    yield { method: "DELETE", path: configMaps };
  },
};

export const watchAttacks: readonly Attack[] = [changing, otherProtocols, resets];
