/**
 * For the test of applications: what has become of an object that was applied, in words for the
 * documentation; throws until it has.
 */
import type { Manifest } from "@kcp-ts/controlplane";
import { type Client, type Condition, isConditionTrue, type KubernetesObject } from "@kcp-ts/sdk";
import { PodClient } from "@kcp-ts/testing/internal";
import type { ApplicationClusters } from "./application-clusters.ts";
import { resourceOf } from "./resource-of.ts";

export interface AppliedObject {
  readonly manifest: Manifest;
  readonly namespace: string;
  readonly client: Client;
  readonly clusters: ApplicationClusters;
}

interface Seen extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly completions?: number;
    readonly minReplicas?: number;
  };
  readonly status?: Counts & {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly loadBalancer?: { readonly ingress?: readonly object[] };
  };
}

type Counts = Readonly<
  Partial<
    Record<
      | "availableReplicas"
      | "readyReplicas"
      | "succeeded"
      | "desiredNumberScheduled"
      | "numberReady"
      | "currentReplicas",
      number
    >
  >
>;

type Outcome = (applied: AppliedObject, object: Seen) => Promise<string> | string;

export async function outcomeOf(applied: AppliedObject): Promise<string> {
  const { manifest } = applied;
  const object = await upstreamObject(applied);
  const outcome = outcomes[manifest.kind];
  if (outcome === undefined) throw new Error(`nobody says what becomes of a ${manifest.kind}`);
  return await outcome(applied, object);
}

const outcomes: Readonly<Record<string, Outcome>> = {
  Deployment: async (applied, { spec, status }) => {
    const asked = spec?.replicas ?? 1;
    const available = status?.availableReplicas ?? 0;
    demand(available >= asked && asked > 0, `${available} of ${asked} are available`);
    await someCluster(applied);
    return "runs";
  },
  StatefulSet: async (applied, { spec, status }) => {
    const asked = spec?.replicas ?? 1;
    demand(status?.readyReplicas === asked, `${status?.readyReplicas} of ${asked} are ready`);
    await someCluster(applied);
    return "runs, each Pod in one cluster under its own name";
  },
  DaemonSet: async (applied, { status }) => {
    const nodes = applied.clusters.clusters.length * applied.clusters.nodesEach;
    demand(status?.numberReady === nodes, `${status?.numberReady} of ${nodes} nodes`);
    return "runs on every node of every cluster";
  },
  Job: (_applied, { spec, status }) => {
    const asked = spec?.completions ?? 1;
    demand(status?.succeeded === asked, `${status?.succeeded} of ${asked} are completed`);
    demand(isConditionTrue(status.conditions, "Complete"), "it is not complete");
    return asked === 1 ? "completes" : `completes all ${asked}`;
  },
  CronJob: async (applied) => {
    const places = await inClusters(applied);
    demand(places.length === 1, `it is in ${places.length} clusters`);
    return "is in one cluster, which runs it when it is time";
  },
  Pod: (_applied, { status }) => {
    demand(status?.phase === "Running", `it is ${status?.phase}`);
    return "runs in one cluster";
  },
  PersistentVolumeClaim: (_applied, { status }) => {
    demand(status?.phase === "Bound", `it is ${status?.phase}`);
    return "is bound";
  },
  Ingress: (_applied, { status }) => {
    const addresses = status?.loadBalancer?.ingress?.length ?? 0;
    demand(addresses > 0, "it has no address");
    return "has the addresses of the clusters that serve it";
  },
  HorizontalPodAutoscaler: (_applied, { spec, status }) => {
    const fewest = spec?.minReplicas ?? 1;
    demand((status?.currentReplicas ?? 0) >= fewest, `it has ${status?.currentReplicas}`);
    return "scales in each cluster, between its share of the bounds";
  },
  Service: follows,
  ConfigMap: follows,
  Secret: follows,
  ServiceAccount: follows,
  PodDisruptionBudget: follows,
  CustomResourceDefinition: (_applied, { status }) => {
    demand(isConditionTrue(status?.conditions, "Established"), "it is not established");
    return "is served by the logical cluster";
  },
  Role: () => staysHere,
  RoleBinding: () => staysHere,
  Queue: servedByOperator,
};

const staysHere = "stays in the logical cluster";

/**
 * Somebody has to be the program in the operator's Pod: it says that the object is ready, by what
 * it finds in there.
 */
async function servedByOperator(applied: AppliedObject): Promise<string> {
  const { namespace, manifest, clusters, client } = applied;
  const ending: (() => Promise<unknown>)[] = [];
  try {
    const pod = await clusters.podOf(namespace, "app=queue-operator");
    demand(pod !== undefined, "its operator has no Pod");
    const end = { after: (clean: () => Promise<unknown>) => void ending.push(clean) };
    const inside = await PodClient.start(end, pod.client, pod.object);
    const connection = await inside.connect(end);
    const resource = resourceOf<Seen>(manifest);
    const { items } = await connection.client
      .resource(resource)
      .list({ namespace: connection.namespace });
    for (const { metadata } of items) {
      const patch = { type: "merge" as const, patch: { status: { ready: true } } };
      const at = { namespace: connection.namespace, name: metadata.name };
      await connection.client.resource(resource).subresource("status").patch(at, patch);
    }
    const { name } = manifest["metadata"] as unknown as { name: string };
    const { status } = await client.resource(resource).get({ namespace, name });
    demand((status as { ready?: boolean } | undefined)?.ready === true, "it is not ready");
    return "stays in the logical cluster, where its operator serves it from within its Pod";
  } finally {
    for (const clean of ending.reverse()) await clean();
  }
}

async function follows(applied: AppliedObject): Promise<string> {
  await someCluster(applied);
  return "is where it is needed";
}

async function someCluster(applied: AppliedObject): Promise<void> {
  demand((await inClusters(applied)).length > 0, "it is in no cluster");
}

async function inClusters({
  clusters,
  namespace,
  manifest,
}: AppliedObject): Promise<readonly string[]> {
  const found = await clusters.find(namespace, manifest);
  return [...new Set(found.map(({ cluster }) => cluster))];
}

async function upstreamObject({ client, manifest, namespace }: AppliedObject): Promise<Seen> {
  const { name } = manifest["metadata"] as unknown as { name: string };
  const resource = resourceOf<Seen>(manifest);
  const key = resource.namespaced ? { namespace, name } : { name };
  return await client.resource(resource).get(key);
}

function demand(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Error(otherwise);
}
