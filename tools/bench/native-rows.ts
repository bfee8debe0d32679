/** Native kinds: what a create of a Pod and of a Deployment costs beside that of a ConfigMap. */
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import type { Bench } from "./contest.ts";
import { definitionsPath } from "./crd-definitions.ts";
import { workers } from "./crd-rows.ts";
import { configMapsPath } from "./objects.ts";
import { cpuMicrosOf } from "./process-figures.ts";
import { against } from "./report.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

const podSpec = {
  containers: [
    {
      name: "web",
      image: "registry.example.com/team/web:1.27.3",
      args: ["--listen=:8080", "--log-level=info"],
      ports: [{ name: "http", containerPort: 8080 }],
      env: [
        { name: "MODE", value: "production" },
        { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      ],
      resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
      readinessProbe: { httpGet: { path: "/ready", port: "http" } },
      volumeMounts: [{ name: "config", mountPath: "/etc/web" }],
    },
  ],
  volumes: [{ name: "config", configMap: { name: "web" } }],
};
const labels = { app: "bench" };
const cases = [
  { kind: "Pod", group: "", resource: "pods", spec: podSpec },
  {
    kind: "Deployment",
    group: "apps",
    resource: "deployments",
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: podSpec },
    },
  },
];
type Case = (typeof cases)[number];

/** Creates of one kind before the other one has its turn: other work disturbs both alike. */
const turn = 250;

/** By processor time of the server: what else runs on the machine does not count. */
export async function nativeRows(bench: Bench): Promise<void> {
  const { customObjects: count, warmUps } = bench.options.sizes;
  const server = await ServerProcess.start(join(bench.directory, "natives"));
  const client = new ApiClient({ url: `${server.url}/clusters/natives`, token: benchToken });
  for (const one of cases) {
    const path = pathOf(one);
    await client.must("POST", definitionsPath, definitionOf(one));
    while ((await client.status("GET", path)) !== 200) await sleep(systemClock, 10);
    const { length } = await client.must("POST", path, objectOf(one, "first"));
    const natives = (name: string) => client.must("POST", path, objectOf(one, name));
    const plains = (name: string) =>
      client.must(
        "POST",
        configMapsPath("default"),
        configMapOf(`${one.resource}-${name}`, length),
      );
    const micros = { natives: 0, plains: 0 };
    const turns = Math.ceil((count * bench.options.rounds) / turn);
    const warmTurns = Math.ceil((count * warmUps) / turn);
    for (let at = -warmTurns; at < turns; at++) {
      const size = Math.min(turn, count);
      const used = async (create: (name: string) => Promise<unknown>): Promise<number> => {
        const before = cpuMicrosOf(server.pid);
        await workers(16, size, (i) => create(`t${at + warmTurns}-${i}`));
        return at < 0 ? 0 : cpuMicrosOf(server.pid) - before;
      };
      micros.natives += await used(natives);
      micros.plains += await used(plains);
    }
    // Ticks are coarse: a quick run may see none.
    const perSecond = (spent: number) => (turns * turn * 1e6) / Math.max(1, spent);
    const [ours, theirs] = [perSecond(micros.natives), perSecond(micros.plains)];
    bench.report.add({
      work: `create of a ${one.kind}, by processor time`,
      server: "kcp",
      figure: ours,
      unit: "/s",
      against: against("ConfigMap of the stored size", ours, theirs),
      wanted: { what: "ratio", atLeast: 0.7 },
    });
  }
  client.close();
  await server.stop();
}

function pathOf({ group, resource }: Case): string {
  return `${group === "" ? "/api/v1" : `/apis/${group}/v1`}/namespaces/default/${resource}`;
}

/** As negotiation writes it where clusters bring the kind. */
function definitionOf({ kind, group, resource }: Case): string {
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${resource}.${group === "" ? "core" : group}`,
      annotations: {
        "api-approved.kubernetes.io": "unapproved, as negotiated",
        "workload.kcp.io/native-kind": "true",
      },
    },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: resource, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  });
}

function objectOf({ kind, group, spec }: Case, name: string): string {
  const apiVersion = group === "" ? "v1" : `${group}/v1`;
  return JSON.stringify({ apiVersion, kind, metadata: { name, labels }, spec });
}

/** What the server adds to a small ConfigMap: its system fields and its manager. */
const addedBytes = 480;

/** As large as the other object when both are stored. */
function configMapOf(name: string, storedBytes: number): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, labels },
    data: { payload: "v".repeat(Math.max(0, storedBytes - addedBytes)), key: "value" },
  });
}
