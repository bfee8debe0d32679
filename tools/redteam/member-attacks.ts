/**
 * Members whose names mean something elsewhere, in every place and spelling; and the same write by
 * many clients at once.
 */
import type { SeededRandom } from "@kcp-ts/testkit";
import { define, hostilesPath, object, text } from "../bench/hold-case.ts";
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
const configMaps = "/api/v1/namespaces/default/configmaps";

/** Names that JavaScript, the store or a client reads as something else. */
const names = [
  "0",
  "1",
  "-0",
  "00",
  "4294967295",
  "__proto__",
  "constructor",
  "toString",
  "metadata",
  "\\u006detadata",
  "\\u0030",
  "metadata\\u0000",
  "resourceVersion",
  "kcp.io/cluster",
  "",
  "\\ud800",
  "é\\u0301",
] as const;

const forged =
  '{"name":"z","uid":"","resourceVersion":"1","labels":{"a":"b"},"finalizers":["x/y"],"annotations":{"kcp.io/cluster":"root"},"deletionTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[]}';

function anyMembers(random: SeededRandom, depth = 0): string {
  const count = random.chance(0.1) ? anySize(random, 5000) : 1 + random.integer(5);
  return times(count, (i) => {
    const name = random.chance(0.5) ? random.pick(names) : `${random.integer(20_000)}`;
    const value = random.pick<() => string>([
      () => forged,
      () => `{"metadata":${forged}}`,
      () => '"b"',
      () => String(i),
      () => (depth < 3 && i < 3 ? `{${anyMembers(random, depth + 1)}}` : "{}"),
      () => anyJson(random, i < 2 ? 5000 : 10),
    ])();
    return `"${name}":${value}`;
  }).join();
}

const custom = (random: SeededRandom, name: string) => {
  const labels = `"0":"x","${random.pick(["constructor", "toString", "a"])}":"b"`;
  const metadata = `"metadata":{"name":"${name}","labels":{${labels}},"annotations":{${labels},"1":"y"}}`;
  const type = '"apiVersion":"hold.example.com/v1","kind":"Kindhostiles"';
  const parts = [type, metadata, anyMembers(random), `"status":{${anyMembers(random)}}`];
  if (random.chance(0.2)) parts.push(`"metadata":{"name":"${name}"}`);
  return `{${(random.chance(0.5) ? parts : parts.reverse()).join()}}`;
};

const spellings: Attack = {
  name: "members with every name and spelling",
  *steps({ random }) {
    yield {
      ...define({
        schema: { type: "object", ...preserved },
        version: { subresources: random.chance(0.5) ? { status: {} } : {} },
      }),
      waitsForDefinition: true,
    };
    for (let i = random.integer(3); i > 0; i--)
      yield {
        ...get(`${hostilesPath}?watch=true&labelSelector=0%3Dx`, random.pick<string>(watchAccepts)),
        isWatched: true,
      };
    for (const name of ["x", "y", "z"]) yield post(hostilesPath, custom(random, name));
    const at = `${hostilesPath}/x`;
    for (let i = 2 + random.integer(6); i > 0; i--)
      yield random.pick<() => Step>([
        () => ({ ...post(at, custom(random, "x")), method: "PUT" }),
        () => ({
          ...post(at, custom(random, "x")),
          method: "PUT",
          contentType: "application/yaml",
        }),
        () => patch(at, "merge-patch+json", `{${anyMembers(random)}}`),
        () => patch(`${at}/status`, "merge-patch+json", `{"status":{${anyMembers(random)}}}`),
        () => patch(`${at}?fieldManager=m&force=true`, "apply-patch+yaml", custom(random, "x")),
        () =>
          patch(
            at,
            "json-patch+json",
            `[${times(1 + random.integer(5), () => `{"op":"${random.pick(["add", "test", "remove"])}","path":"/${random.pick(names)}","value":{${anyMembers(random)}}}`).join()}]`,
          ),
        () => get(at, random.pick<string>(watchAccepts)),
        () => get(`${hostilesPath}?labelSelector=0%3Dx%2Cconstructor`, random.pick(accepts)),
      ])();
    yield post(
      configMaps,
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","name":"d","labels":{"0":"x"}},"data":{${times(anySize(random, 9000), (i) => `"${i}":"v"`).join()}},"0":{"metadata":${forged}}}`,
    );
    for (const path of [hostilesPath, configMaps])
      for (const accept of accepts) if (random.chance(0.3)) yield get(path, accept);
    yield { method: "DELETE", path: `${hostilesPath}?labelSelector=0%3Dx` };
    yield { method: "DELETE", path: hostilesPath };
  },
};

const atOnce: Attack = {
  name: "the same write by many clients at once",
  *steps({ random }) {
    yield {
      ...define({ schema: object({ spec: object({ any: preserved, a: text }) }) }),
      waitsForDefinition: true,
    };
    yield post("/api/v1/namespaces/default/resourcequotas", {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q" },
      spec: { hard: { "count/configmaps": "9", "count/hostiles.hold.example.com": "5" } },
    });
    const size = anySize(random, 8000);
    const body = (name: string) => ({
      apiVersion: "hold.example.com/v1",
      kind: "Kindhostiles",
      metadata: { name },
      spec: { any: times(size, String), a: `${random.integer(9)}` },
    });
    const at = `${hostilesPath}/x`;
    for (let i = 2 + random.integer(6); i > 0; i--) {
      const step = random.pick<Step>([
        patch(`${at}?fieldManager=m&force=true`, "apply-patch+yaml", body("x")),
        patch(`${at}?fieldManager=n`, "apply-patch+yaml", body("x")),
        post(hostilesPath, body("x")),
        post(hostilesPath, { ...body(""), metadata: { generateName: "g" } }),
        patch(at, "merge-patch+json", { spec: { a: "b" } }),
        { method: "DELETE", path: at },
        { method: "DELETE", path: hostilesPath },
        post(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } }),
      ]);
      yield { ...step, copies: 2 + random.integer(12) };
    }
    yield get(hostilesPath);
    yield get("/api/v1/namespaces/default/resourcequotas");
  },
};

/** A provider that claims Secrets, and what it makes of them through its view. */
const claims: Attack = {
  name: "claimed Secrets and tokens",
  *steps({ random, workspace }) {
    const claim = { group: "", resource: "secrets", verbs: ["*"] };
    const accepted = {
      ...claim,
      state: "Accepted",
      selector: random.pick<object>([{ matchAll: true }, { matchLabels: { mine: "1" } }]),
    };
    yield post("/apis/apis.kcp.io/v1alpha2/apiexports", {
      apiVersion: "apis.kcp.io/v1alpha2",
      kind: "APIExport",
      metadata: { name: "claims" },
      spec: { permissionClaims: [claim] },
    });
    yield post("/apis/apis.kcp.io/v1alpha2/apibindings", {
      apiVersion: "apis.kcp.io/v1alpha2",
      kind: "APIBinding",
      metadata: { name: "claims" },
      spec: {
        reference: { export: { path: `root:${workspace}`, name: "claims" } },
        permissionClaims: [accepted],
      },
    });
    const { text: bound } = yield get("/apis/apis.kcp.io/v1alpha2/apibindings/claims");
    const cluster = /"kcp.io\/cluster":"([^"]+)"/.exec(bound)?.[1] ?? "";
    const { text: slices } = yield get("/apis/apis.kcp.io/v1alpha1/apiexportendpointslices");
    const view = `${/\/services\/apiexport\/[^"]+/.exec(slices)?.[0]}/clusters`;
    const secrets = `${view}/${cluster}/api/v1/namespaces/default/secrets`;
    const secret = (name: string) => ({
      apiVersion: "v1",
      kind: "Secret",
      type: random.pick(["kubernetes.io/service-account-token", "Opaque"]),
      metadata: {
        name,
        labels: { mine: "1" },
        annotations: { "kubernetes.io/service-account.name": "default" },
      },
      data: {
        k: Buffer.alloc(anySize(random, 700_000)).toString("base64"),
        ...Object.fromEntries(times(anySize(random, 5000), (i) => [`k${i}`, "dg=="])),
      },
    });
    for (let i = 1 + random.integer(8); i > 0; i--)
      yield { ...post(secrets, secret(`s${i}`)), isFromRoot: true };
    for (const path of [secrets, `${view}/*/api/v1/secrets`, `${secrets}/s1`])
      yield { ...get(path, random.pick<string>(accepts)), isFromRoot: true };
    yield {
      ...get(`${view}/*/api/v1/secrets?watch=true`, random.pick<string>(watchAccepts)),
      isFromRoot: true,
      isWatched: true,
    };
    yield { ...patch(`${secrets}/s1`, "merge-patch+json", secret("s1")), isFromRoot: true };
    yield { method: "DELETE", path: secrets, isFromRoot: true };
  },
};

export const memberAttacks: readonly Attack[] = [spellings, atOnce, claims];
