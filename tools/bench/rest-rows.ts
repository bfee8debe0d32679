/**
 * Many Deployments over two clusters in other processes: how fast they are created and reach the
 * clusters, what the control plane requests and computes when nothing changes any more, and what a
 * drain costs. The clusters are simulated; where `KUBEBUILDER_ASSETS` has a kube-apiserver, two
 * real ones without kubelets follow.
 *
 * `KCP_BENCH_REQUESTS=1` prints the requests of each phase by verb, resource and status.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import {
  kubeControllerManagerMissing,
  kubeconfigOf,
  startKubeApiserver,
  startKubeControllerManager,
} from "@kcp-ts/testkit";
import { ApiClient } from "./api-client.ts";
import { isReady, targetsPath, until } from "./bench-clusters.ts";
import { Child } from "./child.ts";
import type { Bench } from "./contest.ts";
import { cpuMicrosOf } from "./process-figures.ts";
import type { Unit } from "./report.ts";
import { type RequestCounts, requestCountsOf, requestsBetween } from "./request-counts.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

const deploymentsPath = "/apis/apps/v1/namespaces/default/deployments";
const allDeploymentsPath = "/apis/apps/v1/deployments";
const names = ["us-east1", "us-west1"] as const;
const writersAtOnce = 16;
/** The resources whose requests are renewals: they are part of a control plane at rest. */
const renewals = /^(GET|PUT|PATCH|APPLY|UPDATE) (leases|synctargets\/status|nodes)/;
const drainWaitMs = 120_000;
const quietWaitSeconds = 240;
/** The server collects garbage 3 and 15 seconds after it was busy: that is not work at rest. */
const collectionMs = 20_000;

export async function restRows(bench: Bench): Promise<void> {
  await atRest(bench, "not ready");
  await atRest(bench, "ready");
  if (kubeControllerManagerMissing() === undefined) await atRest(bench, "real");
}

/** Of the Deployments' replicas; those of real clusters without kubelets are not ready. */
type State = "ready" | "not ready" | "real";

/** A control plane whose two clusters have no Deployments yet. */
interface Stage {
  readonly bench: Bench;
  readonly state: State;
  readonly plane: ServerProcess;
  readonly client: ApiClient;
  /** The copies that are not in their clusters yet: `<workload> <cluster>`. */
  readonly missing: Set<string>;
  add(work: string, figure: number, unit: Unit): void;
}

async function atRest(bench: Bench, state: State): Promise<void> {
  const folder = join(bench.directory, `rest-${state.replace(" ", "-")}`);
  const clusters = await (state === "real" ? realClusters() : simulatedClusters(folder));
  const plane = await ServerProcess.start(`${folder}-plane`);
  const client = new ApiClient({ url: plane.url, token: benchToken });
  const watchers: ApiClient[] = [];
  const missing = new Set<string>();
  const add = (work: string, figure: number, unit: Unit) =>
    bench.report.add({ work: `${work}, ${state}`, figure, server: "kcp", unit });
  try {
    for (const name of names) {
      const access = clusters.access.get(name);
      if (access !== undefined) watchers.push(await joinCluster(client, name, access, missing));
    }
    await until("Deployments are served", async () => isServed(client));
    await sleep(systemClock, bench.options.sizes.settleMs);
    const stage = { bench, state, plane, client, missing, add };
    await applyRows(stage);
    await restRow(stage, "at rest");
    // A quick run drains replicas that are ready.
    if (!bench.options.isQuick || state === "ready") await drainRows(stage);
  } finally {
    for (const watcher of watchers) watcher.close();
    client.close();
    await plane.stop();
    await clusters.end();
  }
}

interface ClusterAccess {
  readonly kubeconfig: string;
  readonly url: string;
  readonly token: string;
}

interface RunningClusters {
  readonly access: ReadonlyMap<string, ClusterAccess>;
  end(): Promise<void>;
}

async function simulatedClusters(folder: string): Promise<RunningClusters> {
  const program = new Child(
    process.execPath,
    [command, "sim", "--names", ...names, "--nodes", "10", "--out-directory", folder],
    { linesFrom: "stderr", side: "clients" },
  );
  await program.line("ready");
  const access = new Map(names.map((name) => [name, clusterAccess(folder, name)]));
  return { access, end: () => program.end() };
}

async function realClusters(): Promise<RunningClusters> {
  const access = new Map<string, ClusterAccess>();
  const closing: (() => Promise<void>)[] = [];
  for (const name of names) {
    const server = await startKubeApiserver();
    const manager = await startKubeControllerManager(server);
    closing.unshift(
      () => manager.dispose(),
      () => server.dispose(),
    );
    access.set(name, { ...server, kubeconfig: kubeconfigOf(server) });
  }
  const end = async () => {
    for (const close of closing) await close();
  };
  return { access, end };
}

async function joinCluster(
  client: ApiClient,
  name: string,
  { kubeconfig, url, token }: ClusterAccess,
  missing: Set<string>,
): Promise<ApiClient> {
  await client.must("POST", targetsPath, syncTarget(name, kubeconfig));
  const watcher = new ApiClient({ url, token });
  await watcher.watch(`${allDeploymentsPath}?watch=true`, (line) => {
    const { object } = JSON.parse(line) as { object: { metadata: { name: string } } };
    missing.delete(`${object.metadata.name.replace(/--.*/, "")} ${name}`);
  });
  await until(`${name} is ready`, () => isReady(client, name));
  return watcher;
}

async function applyRows(stage: Stage): Promise<void> {
  const { bench, state, plane, client, missing, add } = stage;
  const { restObjects: count } = bench.options.sizes;
  const workloads = Array.from({ length: count }, (_, index) => `w${index}`);
  for (const name of names) for (const one of workloads) missing.add(`${one} ${name}`);
  const beginning = await requestCountsOf(client);
  const startedAt = systemClock.monotonic();
  const cpuBefore = cpuMicrosOf(plane.pid);
  await create(client, workloads, state === "ready");
  const createdMs = systemClock.monotonic() - startedAt;
  const over = `${count} Deployments over ${names.length} clusters`;
  add(`creates of ${over}`, (count * 1000) / createdMs, "/s");
  await until("all copies are in the clusters", async () => missing.size === 0);
  add(`all copies of ${over}`, systemClock.monotonic() - startedAt, "ms");
  await untilQuiet(stage);
  const writes = print(`apply ${state}`, beginning, await requestCountsOf(client));
  add(`writes from apply to rest, each of ${over}`, writes / count, "requests");
  const cpuMs = (cpuMicrosOf(plane.pid) - cpuBefore) / 1000;
  add(`processor time from apply to rest, ${over}`, cpuMs, "ms");
}

async function drainRows(stage: Stage): Promise<void> {
  const { bench, state, client, add } = stage;
  const { restObjects: count, restMs } = bench.options.sizes;
  const before = await requestCountsOf(client);
  const draining = drain(client, names[1]);
  await sleep(systemClock, restMs);
  const later = requestsBetween(before, await requestCountsOf(client));
  const sum = [...later.values()].reduce((total, one) => total + one, 0);
  add(`requests in the first ${restMs / 1000} s of a drain`, sum, "requests");
  const drainedMs = await draining;
  print(`drain ${state}`, before, await requestCountsOf(client));
  add(`drain of ${count} workloads`, drainedMs, "ms");
  await untilQuiet(stage);
  await restRow(stage, "after the drain");
}

const command = fileURLToPath(new URL("../../../packages/cli/bin/kcp.mjs", import.meta.url));

function clusterAccess(directory: string, name: string): ClusterAccess {
  const kubeconfig = readFileSync(join(directory, `${name}.kubeconfig`), "utf8");
  const { clusters, users } = JSON.parse(kubeconfig) as {
    clusters: [{ cluster: { server: string } }];
    users: [{ user: { token: string } }];
  };
  return { kubeconfig, url: clusters[0].cluster.server, token: users[0].user.token };
}

function syncTarget(name: string, kubeconfig: string): string {
  const target = { apiVersion: "workload.kcp.io/v1alpha1", kind: "SyncTarget", metadata: { name } };
  return JSON.stringify({ ...target, spec: { kubeconfig } });
}

async function isServed(client: ApiClient): Promise<boolean> {
  return (await client.status("GET", deploymentsPath)) === 200;
}

async function create(
  client: ApiClient,
  workloads: readonly string[],
  isReady: boolean,
): Promise<void> {
  let next = 0;
  const write = async () => {
    for (let name = workloads[next++]; name !== undefined; name = workloads[next++])
      await client.must("POST", deploymentsPath, deployment(name, isReady));
  };
  await Promise.all(Array.from({ length: writersAtOnce }, write));
}

function deployment(name: string, isReady: boolean): string {
  const labels = { app: name };
  const annotations = isReady ? {} : { "sim.kcp.io/ready": "false" };
  const template = {
    metadata: { labels, annotations },
    spec: { containers: [{ name: "web", image: "nginx:1.27" }] },
  };
  const spec = { replicas: 2, selector: { matchLabels: labels }, template };
  return JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels },
    spec,
  });
}

/** Until a second passes in which nothing is written but renewals, or for four minutes. */
async function untilQuiet({ bench, client }: Stage): Promise<void> {
  const most = bench.options.isQuick ? 1 : quietWaitSeconds;
  let before = await requestCountsOf(client);
  for (let seconds = 0; seconds < most; seconds++) {
    await sleep(systemClock, 1000);
    const after = await requestCountsOf(client);
    const isQuiet = [...requestsBetween(before, after).keys()].every(
      (what) => renewals.test(what) || !isWrite(what),
    );
    if (isQuiet) break;
    before = after;
  }
  if (!bench.options.isQuick) await sleep(systemClock, collectionMs);
}

function isWrite(what: string): boolean {
  return !/^(GET|LIST|WATCH) /.test(what);
}

async function restRow({ bench, plane, client, state, add }: Stage, when: string): Promise<void> {
  const { restMs } = bench.options.sizes;
  const before = await requestCountsOf(client);
  const cpuBefore = cpuMicrosOf(plane.pid);
  await sleep(systemClock, restMs);
  const percent = (cpuMicrosOf(plane.pid) - cpuBefore) / (restMs * 10);
  const after = await requestCountsOf(client);
  print(`${when}, ${state}`, before, after);
  let requests = 0;
  for (const [what, count] of requestsBetween(before, after))
    if (!renewals.test(what)) requests += count;
  add(`requests in ${restMs / 1000} s ${when}`, requests, "requests");
  add(`processor ${when}`, percent, "%");
}

/** Milliseconds until the SyncTarget says that it is drained. */
async function drain(client: ApiClient, name: string): Promise<number> {
  const startedAt = systemClock.monotonic();
  const patch = JSON.stringify({ spec: { unschedulable: true, drain: {} } });
  await client.must("PATCH", `${targetsPath}/${name}`, patch, "application/merge-patch+json");
  for (;;) {
    const body = await client.must("GET", `${targetsPath}/${name}`);
    const { status } = JSON.parse(body.toString("utf8")) as {
      status?: { conditions?: { type: string; status: string }[]; drain?: unknown };
    };
    const tookMs = systemClock.monotonic() - startedAt;
    if (status?.conditions?.some((one) => one.type === "Drained" && one.status === "True") === true)
      return tookMs;
    if (tookMs > drainWaitMs) {
      process.stderr.write(`bench: drain of ${name}: ${JSON.stringify(status?.drain)}\n`);
      return tookMs;
    }
    await sleep(systemClock, 500);
  }
}

/** Prints the requests if they are asked for, and returns the writes among them. */
function print(phase: string, before: RequestCounts, after: RequestCounts): number {
  const counts = [...requestsBetween(before, after)].sort((a, b) => b[1] - a[1]);
  if (process.env["KCP_BENCH_REQUESTS"] === "1")
    for (const [what, count] of counts) process.stderr.write(`${phase}: ${count} ${what}\n`);
  return counts.reduce((sum, [what, count]) => sum + (isWrite(what) ? count : 0), 0);
}
