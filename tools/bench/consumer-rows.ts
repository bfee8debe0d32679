/**
 * One API and many consumers, over the wire: how fast workspaces bind to it, how soon its
 * provider's watch over all of them stands when there are very many instances, and how soon that
 * watch tells of a new one.
 */
import { join } from "node:path";
import { systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import type { Bench } from "./contest.ts";
import { memberOf } from "./member.ts";
import { cpuMicrosOf, residentMegabytesOf } from "./process-figures.ts";
import { memberToken, ServerProcess } from "./server-process.ts";

const writersAtOnce = 32;
const newInstances = 50;
const apis = (cluster: string) => `/clusters/${cluster}/apis/apis.kcp.io`;
const instancesOf = (cluster: string) =>
  `/clusters/${cluster}/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys`;
const viewOf = (provider: string) =>
  `/services/apiexport/${provider}/cowboys/clusters/*/apis/wildwest.dev/v1alpha1/cowboys`;

export async function consumerRows(bench: Bench): Promise<void> {
  const { consumers, consumerInstances } = bench.options.sizes;
  const server = await ServerProcess.start(join(bench.directory, "consumers"));
  const client = await memberOf(server);
  const provider = new ApiClient({ url: server.url, token: memberToken });
  try {
    const providerCluster = await workspace(client, "provider");
    await offer(client, providerCluster);
    const clusters: string[] = [];
    await eachOf(consumers, async (index) => {
      clusters[index] = await workspace(client, `consumer-${index}`);
    });
    const consumer = (index: number) => clusters[index % consumers] as string;
    await binding(bench, server, client, { consumer, consumers, providerCluster });
    const madeFrom = systemClock.monotonic();
    await eachOf(consumerInstances, async (index) => {
      await post(client, instancesOf(consumer(index)), cowboy(`c-${index}`));
    });
    bench.report.add({
      work: `instances of a bound API, ${consumerInstances}`,
      server: "kcp",
      figure: (consumerInstances / (systemClock.monotonic() - madeFrom)) * 1000,
      unit: "/s",
    });
    const view = viewOf(providerCluster);
    await watching(bench, { client, provider, consumer, view, instances: consumerInstances });
    bench.report.add({
      work: `memory with ${consumers} consumers and ${consumerInstances} instances`,
      server: "kcp",
      figure: residentMegabytesOf(server.pid),
      unit: "MB",
    });
  } finally {
    client.close();
    provider.close();
    await server.stop();
  }
}

interface Consumers {
  /** The logical cluster of one of them. */
  readonly consumer: (index: number) => string;
  readonly consumers: number;
  readonly providerCluster: string;
}

/** From the first request until the last of them says that it is bound: their answers do. */
async function binding(
  { report }: Bench,
  server: ServerProcess,
  client: ApiClient,
  { consumer, consumers, providerCluster }: Consumers,
): Promise<void> {
  const startedAt = systemClock.monotonic();
  const cpuBefore = cpuMicrosOf(server.pid);
  await eachOf(consumers, async (index) => {
    const made = await post(client, `${apis(consumer(index))}/v1alpha2/apibindings`, {
      apiVersion: "apis.kcp.io/v1alpha2",
      kind: "APIBinding",
      metadata: { name: "cowboys" },
      spec: { reference: { export: { path: providerCluster, name: "cowboys" } } },
    });
    if (!made.includes('"phase":"Bound"')) throw new Error(`not bound: ${made.slice(0, 300)}`);
  });
  report.add({
    work: `bindings to one export, ${consumers}`,
    server: "kcp",
    figure: (consumers / (systemClock.monotonic() - startedAt)) * 1000,
    unit: "/s",
    cpuMicros: (cpuMicrosOf(server.pid) - cpuBefore) / consumers,
    wanted: { what: "figure", atLeast: 200 },
  });
}

interface Watching {
  readonly client: ApiClient;
  readonly provider: ApiClient;
  readonly consumer: (index: number) => string;
  readonly view: string;
  readonly instances: number;
}

async function watching(
  { report }: Bench,
  { client, provider, consumer, view, instances }: Watching,
): Promise<void> {
  const page = await provider.must("GET", `${view}?limit=1`);
  const { metadata } = JSON.parse(page.toString("utf8")) as {
    metadata: { resourceVersion: string };
  };
  const told = new Map<string, () => void>();
  const startedAt = systemClock.monotonic();
  await provider.watch(`${view}?watch=1&resourceVersion=${metadata.resourceVersion}`, (line) => {
    const name = /"name":"(late-\d+)"/.exec(line)?.[1];
    if (name !== undefined) told.get(name)?.();
  });
  report.add({
    work: `provider's watch stands, ${instances} instances`,
    server: "kcp",
    figure: systemClock.monotonic() - startedAt,
    unit: "ms",
    wanted: { what: "figure", atMost: 1000 },
  });
  const times: number[] = [];
  for (let index = 0; index < newInstances; index++) {
    const name = `late-${index}`;
    const heard = new Promise<number>((resolve) => {
      told.set(name, () => resolve(systemClock.monotonic()));
    });
    const madeAt = systemClock.monotonic();
    await post(client, instancesOf(consumer(index)), cowboy(name));
    times.push((await heard) - madeAt);
  }
  times.sort((a, b) => a - b);
  report.add({
    work: `a new instance reaches the provider, slowest of ${newInstances}`,
    server: "kcp",
    figure: times.at(-1) ?? Number.NaN,
    unit: "ms",
    wanted: { what: "figure", atMost: 50 },
  });
  const allFrom = systemClock.monotonic();
  await firstEvent(provider, `${view}?watch=1`);
  report.add({
    work: `provider's watch that tells all ${instances} first, its first event`,
    server: "kcp",
    figure: systemClock.monotonic() - allFrom,
    unit: "ms",
    wanted: { what: "figure", atMost: 1000 },
  });
}

function firstEvent(client: ApiClient, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.watch(path, () => resolve()).catch(reject);
  });
}

/** Its logical cluster. */
async function workspace(client: ApiClient, name: string): Promise<string> {
  const spec = { type: { name: "universal", path: "root" } };
  const path = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces";
  const made = JSON.parse(await post(client, path, { metadata: { name }, spec })) as {
    spec: { cluster: string };
  };
  return made.spec.cluster;
}

async function offer(client: ApiClient, cluster: string): Promise<void> {
  const names = { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" };
  const properties = { spec: { type: "object", properties: { intent: { type: "string" } } } };
  await post(client, `${apis(cluster)}/v1alpha1/apiresourceschemas`, {
    apiVersion: "apis.kcp.io/v1alpha1",
    kind: "APIResourceSchema",
    metadata: { name: "today.cowboys.wildwest.dev" },
    spec: {
      group: "wildwest.dev",
      names,
      scope: "Namespaced",
      versions: [
        { name: "v1alpha1", served: true, storage: true, schema: { type: "object", properties } },
      ],
    },
  });
  const resource = { name: "cowboys", group: "wildwest.dev", schema: "today.cowboys.wildwest.dev" };
  await post(client, `${apis(cluster)}/v1alpha2/apiexports`, {
    apiVersion: "apis.kcp.io/v1alpha2",
    kind: "APIExport",
    metadata: { name: "cowboys" },
    spec: { resources: [{ ...resource, storage: { crd: {} } }] },
  });
}

function cowboy(name: string): object {
  return {
    apiVersion: "wildwest.dev/v1alpha1",
    kind: "Cowboy",
    metadata: { name },
    spec: { intent: "good" },
  };
}

async function post(client: ApiClient, path: string, body: object): Promise<string> {
  return (await client.must("POST", path, JSON.stringify(body))).toString("utf8");
}

async function eachOf(count: number, body: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) await body(next++);
  };
  await Promise.all(Array.from({ length: writersAtOnce }, work));
}
