/** Reads the state of a control plane through its API, as its administrator. */
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import {
  renewalOf,
  syncerLeaseName,
  syncerVersionAnnotation,
  syncTargets,
} from "@kcp-ts/multicluster";
import { type Client, findCondition } from "@kcp-ts/sdk";
import { leases, secrets, shards } from "@kcp-ts/sdk/kinds";
import { samplesOf, sumOf } from "@kcp-ts/sdk/metrics";
import { type Certificate, servedCertificate } from "./certificate.ts";
import type { ServerConnection } from "./connect-server.ts";
import { kcpVersionOf } from "./version-skew.ts";

export interface Status {
  readonly server: {
    readonly url: string;
    readonly version: string;
    readonly kubernetesVersion: string;
    readonly isReady: boolean;
    readonly failedChecks: readonly string[];
    /** The server's clock minus that of this machine. */
    readonly clockSkewMs: number | undefined;
  };
  /** The shards of the installation; root alone where there are no others. */
  readonly shards: readonly ShardStatus[];
  /** Servers of one store that were started with --peer-url. */
  readonly servers: readonly { readonly url: string; readonly renewedAt: string }[];
  readonly store: {
    readonly backend: string | undefined;
    readonly revision: number | undefined;
    readonly objects: number | undefined;
  };
  readonly certificate: Certificate;
  /** The Lease of the server whose controllers run; undefined where one server has the store. */
  readonly controllers: { readonly holder: string; readonly renewedAt: string } | undefined;
  readonly features: Readonly<Record<string, boolean>>;
  readonly clusters: readonly ClusterStatus[];
}

export interface ShardStatus {
  readonly name: string;
  readonly url: string;
  readonly isReady: boolean;
  readonly message: string;
}

export interface ClusterStatus {
  readonly workspace: string;
  readonly name: string;
  readonly mode: string;
  readonly state: string;
  readonly isReady: boolean;
  readonly reason: string;
  readonly message: string;
  readonly kubernetesVersion: string;
  /** Of the program that syncs the cluster; empty before its first renewal. */
  readonly syncerVersion: string;
  readonly renewedAt: string;
}

/** The logical cluster in which servers of one store keep what they share. */
const systemCluster = "system:admin";
const systemNamespace = "default";
const peerLabel = "core.kcp.io/peer";
const electionLease = "kcp-control-loops";

export async function readStatus(server: ServerConnection, nowMs: number): Promise<Status> {
  const { client, url } = server;
  const [version, ready, metrics] = await Promise.all([
    server.read("/version"),
    server.read("/readyz?verbose"),
    server.read("/metrics"),
  ]);
  const { gitVersion } = parseBounded(bounds.refusal, version.text) as {
    readonly gitVersion: string;
  };
  const [feature, info] = ["kcp_feature_enabled", "kcp_storage_info"].map((name) =>
    samplesOf(metrics.text, name),
  );
  return {
    server: {
      url: url.origin,
      version: kcpVersionOf(gitVersion) ?? gitVersion,
      kubernetesVersion: gitVersion.split("+")[0] ?? "",
      isReady: ready.status === 200,
      failedChecks: [...ready.text.matchAll(/^\[-\](\S+)/gm)].map(([, name = ""]) => name),
      clockSkewMs: version.dateMs === undefined ? undefined : skewOf(version.dateMs, nowMs),
    },
    shards: await shardsOf(client),
    servers: await peersOf(client),
    store: {
      backend: info?.[0]?.labels["backend"],
      revision: sumOf(metrics.text, "kcp_storage_revision"),
      objects: sumOf(metrics.text, "apiserver_storage_objects"),
    },
    certificate: await servedCertificate(url),
    controllers: await electedOf(client),
    features: Object.fromEntries(
      (feature ?? []).map(({ labels, value }) => [labels["feature"] ?? "", value === 1]),
    ),
    clusters: await clustersOf(client),
  };
}

/** The Date header has whole seconds: a difference below one second is none. */
function skewOf(serverMs: number, nowMs: number): number {
  const difference = serverMs - nowMs;
  return Math.abs(difference) < 2000 ? 0 : difference;
}

async function shardsOf(client: Client): Promise<readonly ShardStatus[]> {
  const { items } = await client.inCluster("root").resource(shards).list();
  return items.map(({ metadata: { name = "" }, spec, status }) => {
    const ready = findCondition(status?.conditions, "Ready");
    // The only shard has no condition: it is the server that answers.
    const isReady = ready === undefined || ready.status === "True";
    return { name, url: spec?.baseURL ?? "", isReady, message: ready?.message ?? "" };
  });
}

async function peersOf(client: Client): Promise<Status["servers"]> {
  const labelSelector = `${peerLabel}=true`;
  const { items } = await client
    .inCluster(systemCluster)
    .resource(secrets)
    .list({ namespace: systemNamespace, labelSelector });
  return items.map(({ data = {} }) => {
    const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString("utf8");
    return { url: text("url"), renewedAt: new Date(Number(text("renewedAt"))).toISOString() };
  });
}

async function electedOf(client: Client): Promise<Status["controllers"]> {
  const lease = await client
    .inCluster(systemCluster)
    .resource(leases)
    .find({ namespace: systemNamespace, name: electionLease });
  const { holderIdentity = "", renewTime = "" } = lease?.spec ?? {};
  return lease === undefined ? undefined : { holder: holderIdentity, renewedAt: renewTime };
}

async function clustersOf(client: Client): Promise<readonly ClusterStatus[]> {
  const all = client.inCluster("*");
  const [targets, renewals] = await Promise.all([
    all.resource(syncTargets).list(),
    all.resource(leases).list({ labelSelector: "workload.kcp.io/syncer-lease=true" }),
  ]);
  const key = (workspace: string, lease: string) => JSON.stringify([workspace, lease]);
  const workspaceOf = (annotations: Readonly<Record<string, string>> | undefined) =>
    annotations?.["kcp.io/cluster"] ?? "";
  const leaseByKey = new Map(
    renewals.items.map((lease) => [
      key(workspaceOf(lease.metadata.annotations), lease.metadata.name ?? ""),
      lease,
    ]),
  );
  return targets.items.map(({ metadata: { name = "", annotations }, spec, status }) => {
    const workspace = workspaceOf(annotations);
    const lease = leaseByKey.get(key(workspace, syncerLeaseName(name)));
    const ready = findCondition(status?.conditions, "Ready");
    return {
      workspace,
      name,
      mode: spec?.mode ?? "Push",
      state: status?.state ?? "Unknown",
      isReady: ready?.status === "True",
      reason: ready?.reason ?? "",
      message: ready?.message ?? "",
      kubernetesVersion: status?.version ?? "",
      syncerVersion: lease?.metadata.annotations?.[syncerVersionAnnotation] ?? "",
      renewedAt: renewalOf(lease)?.renewTime ?? "",
    };
  });
}
