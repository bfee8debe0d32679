/**
 * For rows about physical clusters: a control plane, and clusters that are logical clusters of a
 * second server, in a process that is not counted.
 */
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import type { Bench } from "./contest.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const targetsPath = "/apis/workload.kcp.io/v1alpha1/synctargets";
const patience = { pollMs: 200, mostMs: 900_000 };

export interface BenchClusters {
  plane: ServerProcess;
  readonly directory: string;
  readonly physical: ServerProcess;
  readonly targets: readonly string[];
}

/** The resource that the clusters serve. */
export interface ClusterKind {
  readonly definition: { readonly metadata: { readonly name: string } };
  /** Of its objects, in a namespace. */
  readonly path: string;
}

export interface BenchClustersOptions {
  readonly name: string;
  readonly count: number;
  readonly kind: ClusterKind;
}

export async function withBenchClusters(
  bench: Bench,
  { name, count, kind }: BenchClustersOptions,
  body: (clusters: BenchClusters) => Promise<void>,
): Promise<void> {
  const directory = join(bench.directory, name);
  const [plane, physical] = [
    await ServerProcess.start(directory),
    await ServerProcess.start(`${directory}-physical`),
  ];
  const targets = Array.from({ length: count }, (_, index) => `t${index}`);
  const clusters = { plane, physical, targets, directory };
  try {
    for (const target of targets) await joinCluster(clusters, target, kind);
    await within(plane, "", async (client) => {
      await until(
        "the kind is served",
        async () => (await client.status("GET", kind.path)) === 200,
      );
      for (const target of targets)
        await until(`${target} is ready`, () => isReady(client, target));
    });
    await body(clusters);
  } finally {
    await clusters.plane.stop();
    await physical.stop();
  }
}

async function joinCluster(
  { plane, physical }: BenchClusters,
  name: string,
  { definition }: ClusterKind,
): Promise<void> {
  await within(physical, `/clusters/${name}`, async (client) => {
    await client.must("POST", definitions, JSON.stringify(definition));
  });
  const cluster = { server: `${physical.url}/clusters/${name}`, "insecure-skip-tls-verify": true };
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name, user: { token: benchToken } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
  const target = {
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncTarget",
    metadata: { name },
    spec: { kubeconfig: JSON.stringify(kubeconfig), resources: [definition.metadata.name] },
  };
  await within(plane, "", async (client) => {
    await client.must("POST", targetsPath, JSON.stringify(target));
  });
}

export async function isReady(client: ApiClient, name: string): Promise<boolean> {
  const body = await client.must("GET", `${targetsPath}/${name}`);
  const { status } = JSON.parse(body.toString("utf8")) as {
    status?: { conditions?: { type: string; status: string }[]; syncedResources?: string[] };
  };
  const isTrue = (type: string) =>
    status?.conditions?.some((one) => one.type === type && one.status === "True") === true;
  return isTrue("Ready") && isTrue("SyncerReady") && (status?.syncedResources?.length ?? 0) > 0;
}

/**
 * Changes that are under way, by object. One is over when it or a later one of its object is seen.
 */
export class Waits {
  readonly waits: number[] = [];
  readonly #open = new Map<string, { readonly change: number; readonly atMs: number }[]>();
  open = 0;

  begin(name: string, change: number, atMs: number): void {
    const list = this.#open.get(name) ?? [];
    this.#open.set(name, list);
    list.push({ change, atMs });
    this.open++;
  }

  /** Whether that is news. */
  seen(name: string, change: number): boolean {
    const list = this.#open.get(name) ?? [];
    const isNews = list.some((one) => one.change <= change);
    const nowMs = systemClock.monotonic();
    while (list[0] !== undefined && list[0].change <= change) {
      this.waits.push(nowMs - list[0].atMs);
      list.shift();
      this.open--;
    }
    return isNews;
  }
}

export async function within(
  server: ServerProcess,
  path: string,
  body: (client: ApiClient) => Promise<void>,
): Promise<void> {
  const client = new ApiClient({ url: server.url + path, token: benchToken });
  try {
    await body(client);
  } finally {
    client.close();
  }
}

export async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const startedAt = systemClock.monotonic();
  while (!(await check())) {
    if (systemClock.monotonic() - startedAt > patience.mostMs) throw new Error(`not yet: ${what}`);
    await sleep(systemClock, patience.pollMs);
  }
}

export function p99(waits: readonly number[]): number {
  const sorted = [...waits].sort((a, b) => a - b);
  return sorted[Math.floor(0.99 * (sorted.length - 1))] ?? Number.NaN;
}
