/** Physical clusters whose API is hostile, and agents whose token a tenant holds. */
import { gzipSync } from "node:zlib";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  agentId,
  agentViewPath,
  stateLabel,
  statusAnnotation,
  syncerFinalizer,
} from "@kcp-ts/multicluster";
import type { SeededRandom } from "@kcp-ts/testkit";
import { fields, object, text } from "../bench/hold-case.ts";
import {
  type Attack,
  anyJson,
  anySize,
  get,
  patch,
  post,
  type Step,
  type StepResponse,
  times,
} from "./attack.ts";
import type { HostileHosts, HostileResponse } from "./hostile-hosts.ts";

const syncTargets = "/apis/workload.kcp.io/v1alpha1/synctargets";

export function* registered(
  hosts: HostileHosts,
  names: readonly string[],
): Generator<Step, void, StepResponse> {
  const kubeconfig = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "c", cluster: { server: hosts.url, "certificate-authority-data": hosts.caBundle } },
    ],
    users: [{ name: "u", user: { token: "t" } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
  yield post("/api/v1/namespaces/default/secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s" },
    stringData: { kubeconfig },
  });
  for (const name of names)
    yield post(syncTargets, {
      apiVersion: "workload.kcp.io/v1alpha1",
      kind: "SyncTarget",
      metadata: { name },
      spec: {
        kubeconfigSecretRef: { namespace: "default", name: "s" },
        resources: ["deployments.apps", "pods", "widgets.example.com"],
      },
    });
}

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];

/** Models of the kinds, with up to 8,000 fields each. */
function anyDocument(random: SeededRandom): string {
  const leaf = random.pick<object>([
    { type: "string" },
    { type: "string", description: "d".repeat(anySize(random, 3000)) },
    { $ref: "#/components/schemas/Part" },
    { type: "string", enum: times(anySize(random, 3000), (i) => `e${i}`) },
  ]);
  const model = (kind: string, group: string) => ({
    ...fields(anySize(random, 8000), () => leaf),
    "x-kubernetes-group-version-kind": [{ group, version: "v1", kind }],
  });
  const schemas = {
    Deployment: model("Deployment", "apps"),
    Pod: model("Pod", ""),
    Widget: model("Widget", "example.com"),
    Part: object({ a: { $ref: "#/components/schemas/Part2" } }),
    Part2: fields(random.integer(9), () => ({})),
  };
  return JSON.stringify({ components: { schemas } });
}

function discovered(random: SeededRandom, groupVersion: string, named: object): string {
  const further = random.chance(0.3) ? anySize(random, 9000) : 0;
  const resources = [
    ...Object.entries(named).flatMap(([name, kind]) => [
      { name, kind, namespaced: true, verbs },
      { name: `${name}/status`, kind, namespaced: true, verbs },
    ]),
    ...times(further, (i) => ({ name: `r${i}`, kind: `R${i}`, verbs })),
  ];
  return JSON.stringify({ kind: "APIResourceList", groupVersion, resources });
}

const groups = ["apps", "example.com"].map((name) => {
  const version = { groupVersion: `${name}/v1`, version: "v1" };
  return { name, versions: [version], preferredVersion: version };
});

/** What a cluster answers at the path; each part is of any size. */
function anyCluster(random: SeededRandom): (path: string) => string | HostileResponse {
  const item = (i: number) =>
    `{"metadata":{"name":"n${i}","namespace":"default","uid":"u${i}","resourceVersion":"1"},"spec":${anyJson(random, random.chance(0.1) ? 30_000 : 20)}}`;
  const list = `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[${times(anySize(random, 3000), item).join()}]}`;
  const type = random.pick(["ADDED", "MODIFIED", "BOOKMARK", "ERROR"]);
  const event = {
    body: `{"type":"${type}","object":${item(0)}}\n`,
    repeatsAfterMs: random.pick([0, 1, 20, 1000]),
  };
  const answers: readonly [RegExp, string | HostileResponse][] = [
    [/[?&]watch=/, event],
    [/^\/version/, '{"major":"1","minor":"36","gitVersion":"v1.36.0"}'],
    [/^\/api\/?$/, '{"kind":"APIVersions","versions":["v1"]}'],
    [/^\/apis\/?$/, JSON.stringify({ kind: "APIGroupList", groups })],
    [/^\/api\/v1\/?$/, discovered(random, "v1", { pods: "Pod", namespaces: "Namespace" })],
    [/^\/apis\/apps\/v1\/?$/, discovered(random, "apps/v1", { deployments: "Deployment" })],
    [/^\/apis\/example.com\/v1\/?$/, discovered(random, "example.com/v1", { widgets: "Widget" })],
    [/^\/openapi/, anyDocument(random)],
    [/namespaces\/kube-system/, '{"kind":"Namespace","metadata":{"name":"kube-system","uid":"u"}}'],
  ];
  return (path) => answers.find(([pattern]) => pattern.test(path))?.[1] ?? list;
}

const served: Attack = {
  name: "SyncTargets whose clusters serve an API of any size",
  *steps({ random, hosts }) {
    const answer = anyCluster(random);
    hosts.answer = answer;
    yield* registered(hosts, ["one", "two"]);
    for (let i = 0; i < 12; i++) {
      yield get(random.pick([syncTargets, "/apis/apiresource.kcp.io/v1alpha1/apiresourceimports"]));
      if (random.chance(0.2)) hosts.answer = anyCluster(random);
    }
    yield get("/apis/apps/v1");
    yield { method: "DELETE", path: `${syncTargets}/one` };
    yield { method: "DELETE", path: syncTargets };
  },
};

const slow: Attack = {
  name: "SyncTargets with slow, endless and compressed answers",
  *steps({ random, hosts }) {
    const bomb = gzipSync(Buffer.alloc(anySize(random, 60_000_000), 32));
    hosts.answer = (path) =>
      random.pick<string | HostileResponse>([
        { body: " ".repeat(anySize(random, 60_000)), repeatsAfterMs: random.pick([0, 1, 300]) },
        { body: '{"items":[', repeatsAfterMs: 0 },
        { body: `{"k":"${"x".repeat(30_000)}`, repeatsAfterMs: 1 },
        { body: bomb, headers: { "content-encoding": "gzip" } },
        { body: "{}", headers: { location: `${hosts.url}${path}`, "content-length": "900000000" } },
        { body: "{}", headers: { "x-long": "h".repeat(anySize(random, 15_000)) } },
        anyCluster(random)(path),
      ]);
    yield* registered(hosts, ["one", "two"]);
    for (let i = 0; i < 12; i++) yield get(syncTargets);
    yield { method: "DELETE", path: syncTargets };
  },
};

/** The name of the logical cluster, and the member of the first object of a response. */
const member = (text: string, name: string) =>
  new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1] ?? "";

const imports = "/apis/apiresource.kcp.io/v1alpha1/apiresourceimports";
const configMaps = "/api/v1/namespaces/default/configmaps";
const ownLabels = { [stateLabel("mine")]: "Upsync" };

/** A request of the agent of `mine`, about its cluster or about what it may not change. */
function reportOf(random: SeededRandom): Step {
  const any = () => JSON.parse(anyJson(random, 20_000)) as unknown;
  const marks = () => ({
    finalizers: [syncerFinalizer("mine")],
    annotations: { [statusAnnotation("mine")]: JSON.stringify(any()) },
  });
  const given = `${configMaps}/given`;
  return random.pick<() => Step>([
    () =>
      post(imports, {
        apiVersion: "apiresource.kcp.io/v1alpha1",
        kind: "APIResourceImport",
        metadata: { name: "deployments.mine.v1.apps" },
        spec: {
          location: "mine",
          groupVersion: { group: "apps", version: "v1" },
          plural: "deployments",
          kind: "Deployment",
          scope: "Namespaced",
          openAPIV3Schema: fields(anySize(random, 8000), () => text),
        },
      }),
    () =>
      post("/api/v1/namespaces/default/events", {
        apiVersion: "v1",
        kind: "Event",
        metadata: { generateName: "e", labels: ownLabels },
        involvedObject: { namespace: "default", kind: "ConfigMap", name: "given" },
        message: "x".repeat(anySize(random, 900_000)),
        related: any(),
      }),
    () => patch(`${given}?fieldManager=kcp-syncer`, "merge-patch+json", { metadata: marks() }),
    () => patch(given, "json-patch+json", [{ op: "remove", path: "/metadata/labels" }]),
    () => patch(`${syncTargets}/mine/status`, "merge-patch+json", { status: { a: any() } }),
    () => post("/api/v1/namespaces/default/pods", { metadata: { name: "p", labels: ownLabels } }),
    () => get(imports),
    () => ({ ...get(`${imports}?watch=true&timeoutSeconds=20`), isWatched: true }),
    () => get("/api/v1/configmaps"),
    () => get("/api/v1/namespaces/default/secrets"),
  ])();
}

const agents: Attack = {
  name: "requests with the token of an agent",
  *steps({ random }) {
    const { text: created } = yield post(syncTargets, {
      apiVersion: "workload.kcp.io/v1alpha1",
      kind: "SyncTarget",
      metadata: { name: "mine" },
      spec: { mode: "Pull", resources: ["deployments.apps", "pods", "configmaps"] },
    });
    const target = {
      name: "mine",
      uid: member(created, "uid"),
      cluster: member(created, "kcp.io/cluster") as ClusterName,
    };
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    let token = "";
    for (let tries = 0; tries < 50 && token === ""; tries++) {
      const { text } = yield post(`${accounts}/${agentId(target)}/token`, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: 3600 },
      });
      token = member(text, "token");
    }
    const view = `${agentViewPath(target)}/clusters/${target.cluster}`;
    const asAgent = (step: Step): Step => ({
      ...step,
      path: view + step.path,
      headers: { authorization: `Bearer ${token}` },
      isFromRoot: true,
    });
    yield post(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "given", labels: { [stateLabel("mine")]: "Sync" } },
      data: { k: "v".repeat(anySize(random, 900_000)) },
    });
    for (let i = 3 + random.integer(12); i > 0; i--) yield asAgent(reportOf(random));
    yield { method: "DELETE", path: `${syncTargets}/mine` };
  },
};

export const clusterAttacks: readonly Attack[] = [served, slow, agents];
