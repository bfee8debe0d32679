/**
 * Deployments that are split over clusters, as `kcp start` does it: how long a decision takes to
 * the clusters at a steady pace, and how soon what a lost cluster had is asked for elsewhere.
 * Changes are timed from when each was due; failover from the end of the time that the cluster is
 * tolerated, which is written in whole seconds.
 */

import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { anyObject, definitionOfKind, object } from "@kcp-ts/machinery/schema";
import { ApiClient } from "./api-client.ts";
import {
  type BenchClusters,
  type ClusterKind,
  p99,
  targetsPath,
  until,
  Waits,
  withBenchClusters,
} from "./bench-clusters.ts";
import type { Bench } from "./contest.ts";
import { cpuMicrosOf } from "./process-figures.ts";
import { benchToken } from "./server-process.ts";

const deploymentsPath = "/apis/apps/v1/namespaces/default/deployments";
const allDeploymentsPath = "/apis/apps/v1/deployments";
const mergePatch = "application/merge-patch+json";
const definition = definitionOfKind({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  resource: "deployments",
  isNamespaced: true,
  hasStatus: true,
  schema: object({ spec: anyObject(), status: anyObject() }),
});
const deployments: ClusterKind = { definition, path: deploymentsPath };
const tolerationSeconds = 1;
const failedReplicas = 1000;
const perWhole = 20;

interface DeploymentEvent {
  readonly object: {
    readonly metadata: {
      readonly name: string;
      readonly labels?: Readonly<Record<string, string>>;
    };
    readonly spec: { readonly replicas: number };
  };
}

export async function movesRows(bench: Bench): Promise<void> {
  const { moveTargets: count } = bench.options.sizes;
  await withBenchClusters(bench, { name: "moves", count, kind: deployments }, async (clusters) => {
    await decisionRow(bench, clusters);
  });
  await withBenchClusters(
    bench,
    { name: "failover", count: 2, kind: deployments },
    async (clusters) => {
      await failoverRow(bench, clusters);
    },
  );
}

/** Each change asks every cluster for one replica more. */
async function decisionRow(
  bench: Bench,
  { plane, physical, targets }: BenchClusters,
): Promise<void> {
  const { moveObjects, movesPerSecond: perSecond, movesMs } = bench.options.sizes;
  const names = Array.from({ length: moveObjects }, (_, index) => `w${index}`);
  const waits = new Waits();
  const upstream = new ApiClient({ url: plane.url, token: benchToken });
  const clients = [upstream];
  for (const target of targets) {
    const client = new ApiClient({ url: `${physical.url}/clusters/${target}`, token: benchToken });
    clients.push(client);
    await client.watch(`${allDeploymentsPath}?watch=true`, (line) => {
      const { metadata, spec } = (JSON.parse(line) as DeploymentEvent).object;
      waits.seen(`${metadata.name.replace(/--.*/, "")} ${target}`, spec.replicas);
    });
  }
  // Before they are made: what is seen before it is waited for would be waited for until it
  // changes.
  for (const target of targets)
    for (const name of names) waits.begin(`${name} ${target}`, 1, systemClock.monotonic());
  await until("the split begins", () => createDeployments(upstream, names, targets.length));
  await until("all is in the clusters", async () => waits.open === 0);
  await sleep(systemClock, bench.options.sizes.settleMs);
  const before = waits.waits.length;
  const total = Math.floor((perSecond * movesMs) / 1000);
  const cpuBefore = cpuMicrosOf(plane.pid);
  const begin = systemClock.monotonic();
  for (let change = 0; change < total; change++) {
    const dueAt = begin + (change * 1000) / perSecond;
    const waitMs = dueAt - systemClock.monotonic();
    if (waitMs > 1) await sleep(systemClock, waitMs);
    const name = names[change % names.length] ?? "";
    const each = 2 + Math.floor(change / names.length);
    for (const target of targets) waits.begin(`${name} ${target}`, each, dueAt);
    const patch = JSON.stringify({ spec: { replicas: each * targets.length } });
    void upstream.must("PATCH", `${deploymentsPath}/${name}`, patch, mergePatch);
  }
  await until("all is in the clusters", async () => waits.open === 0);
  bench.report.add({
    work: `decision to cluster, p99, ${perSecond} changes/s over ${targets.length} clusters`,
    server: "kcp",
    figure: p99(waits.waits.slice(before)),
    unit: "ms",
    wanted: { what: "figure", atMost: 250 },
    cpuMicros: (cpuMicrosOf(plane.pid) - cpuBefore) / total,
  });
  for (const client of clients) client.close();
}

/** Of two clusters one is lost: its kubeconfig leads nowhere any more. */
async function failoverRow(bench: Bench, { plane, targets }: BenchClusters): Promise<void> {
  const [lost = "", other = ""] = targets;
  const names = Array.from({ length: (2 * failedReplicas) / perWhole }, (_, index) => `w${index}`);
  const client = new ApiClient({ url: plane.url, token: benchToken });
  const annotations = { "workload.kcp.io/toleration-seconds": String(tolerationSeconds) };
  await until("the split begins", () => createDeployments(client, names, perWhole, annotations));
  await until("all are split", async () => {
    const parts = await copiesOf(client);
    return parts.filter(({ spec }) => spec.replicas === perWhole / 2).length === 2 * names.length;
  });
  const grownAtMs: number[] = [];
  await client.watch(`${allDeploymentsPath}?watch=true`, (line) => {
    const { metadata, spec } = (JSON.parse(line) as DeploymentEvent).object;
    const isThere = metadata.labels?.["workload.kcp.io/cluster"] === other;
    if (isThere && spec.replicas === perWhole) grownAtMs.push(systemClock.now());
  });
  const nowhere = { server: "https://127.0.0.1:9", "insecure-skip-tls-verify": true };
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: lost, cluster: nowhere }],
    users: [{ name: lost, user: { token: benchToken } }],
    contexts: [{ name: lost, context: { cluster: lost, user: lost } }],
    "current-context": lost,
  };
  const patch = JSON.stringify({ spec: { kubeconfig: JSON.stringify(kubeconfig) } });
  await client.must("PATCH", `${targetsPath}/${lost}`, patch, mergePatch);
  await until("all is asked for elsewhere", async () => grownAtMs.length >= names.length);
  const body = await client.must("GET", `${targetsPath}/${lost}`);
  const { status } = JSON.parse(body.toString("utf8")) as {
    status: { conditions: { type: string; lastTransitionTime: string }[] };
  };
  const ready = status.conditions.find(({ type }) => type === "Ready");
  const dueMs = Date.parse(ready?.lastTransitionTime ?? "") + tolerationSeconds * 1000;
  const row = { server: "kcp", unit: "ms" } as const;
  bench.report.add({
    ...row,
    work: `failover of ${failedReplicas} replicas in ${names.length} Deployments, first`,
    figure: Math.min(...grownAtMs) - dueMs,
    wanted: { what: "figure", atMost: 1000 },
  });
  bench.report.add({
    ...row,
    work: `failover of ${failedReplicas} replicas in ${names.length} Deployments, last`,
    figure: Math.max(...grownAtMs) - dueMs,
  });
  client.close();
}

async function createDeployments(
  client: ApiClient,
  names: readonly string[],
  replicas: number,
  annotations: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  if ((await client.status("GET", deploymentsPath)) !== 200) return false;
  for (const name of names) {
    const template = {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "web", image: "nginx" }] },
    };
    const spec = { replicas, selector: { matchLabels: { app: name } }, template };
    const object = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, annotations },
      spec,
    };
    await client.must("POST", deploymentsPath, JSON.stringify(object));
  }
  return true;
}

async function copiesOf(client: ApiClient): Promise<readonly DeploymentEvent["object"][]> {
  const body = await client.must(
    "GET",
    `${deploymentsPath}?labelSelector=workload.kcp.io%2Fowned-by`,
  );
  return (JSON.parse(body.toString("utf8")) as { items: DeploymentEvent["object"][] }).items;
}
