/**
 * Reads a workspace snapshot with a user's permissions: kinds that are not served are omitted, and
 * kinds that are forbidden are reported.
 */
import { type ClusterName, parseClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  clusterOf,
  type KubernetesObject,
  type Resource,
  type StringMap,
} from "@kcp-ts/sdk";
import {
  globalPlacement,
  locations,
  type Placement,
  placements,
  syncTargets,
  type WorkloadPlacement,
  workloadPlacementName,
  workloadPlacements,
  workloadStrategies,
} from "../api/index.ts";
import {
  customStrategy,
  isCopyOf,
  isUnassigned,
  ownerLabelOf,
  ownerLabelValue,
  type Strategy,
  strategiesDefault,
} from "../coordination/index.ts";
import { namespaces } from "../scheduling/index.ts";
import {
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeSnapshotClasses,
} from "../volumes/index.ts";
import type { SnapshotWorkload, WorkspaceSnapshot } from "./workspace-snapshot.ts";

export interface ReadSnapshotOptions {
  /** The client of the workspace. */
  readonly client: Client;
  /**
   * The client of `root`, for the global Placement; it is omitted for users who may not read it.
   */
  readonly root?: Client;
  /** The workspace's logical cluster, if known; otherwise it is read from its objects. */
  readonly cluster?: ClusterName;
  /** The strategies; the built-in ones and those of the workspace if omitted. */
  readonly strategies?: readonly Strategy[];
  readonly signal?: AbortSignal;
}

export async function readSnapshot(options: ReadSnapshotOptions): Promise<WorkspaceSnapshot> {
  const { client, root } = options;
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const strategies = options.strategies ?? (await readStrategies(client, call));
  const all = async <Object extends KubernetesObject>(resource: Resource<Object>) => {
    try {
      return (await client.resource(resource).list(call)).items;
    } catch (error) {
      if (isStatusError(error, "NotFound")) return [];
      throw error;
    }
  };
  const [targets, locationList, placementList, namespaceList] = await Promise.all([
    all(syncTargets),
    all(locations),
    all(placements),
    all(namespaces),
  ]);
  const [claims, volumes, ofStorage, ofSnapshots] = await Promise.all([
    all(persistentVolumeClaims),
    unlessForbidden(all(persistentVolumes)),
    unlessForbidden(all(storageClasses)),
    unlessForbidden(all(volumeSnapshotClasses)),
  ]);
  const classes =
    ofStorage === undefined || ofSnapshots === undefined
      ? {}
      : { storageClasses: ofStorage, snapshotClasses: ofSnapshots };
  const records = (await unlessForbidden(all(workloadPlacements))) ?? [];
  const placed = new Map(records.map((one) => [keyOf(one.metadata), one]));
  const known = await Promise.all(strategies.map((strategy) => workloadsOf(strategy, all, placed)));
  const cluster = [...targets, ...namespaceList].map(clusterOf).find((one) => one !== undefined);
  return {
    cluster: options.cluster ?? cluster ?? parseClusterName("unknown") ?? rootCluster,
    targets,
    locations: locationList,
    placements: placementList,
    global: await readGlobal(root, call),
    namespaces: new Map<string, StringMap>(
      namespaceList.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]),
    ),
    workloads: known.flat(),
    storage: { claims, volumes: volumes ?? [], ...classes },
  };
}

/**
 * The built-in strategies, and for each custom kind the first valid WorkloadStrategy by name, as in
 * its coordination.
 */
export async function readStrategies(
  client: Client,
  call: { readonly signal?: AbortSignal },
): Promise<readonly Strategy[]> {
  const known = new Map(strategiesDefault.map((strategy) => [strategy.name, strategy]));
  const found = (await unlessForbidden(client.resource(workloadStrategies).list(call)))?.items;
  for (const one of [...(found ?? [])].sort(byName)) {
    const compiled = one.metadata.deletionTimestamp === undefined ? customStrategy(one) : "";
    if (typeof compiled !== "string" && !known.has(compiled.name))
      known.set(compiled.name, compiled);
  }
  return [...known.values()];
}

function byName({ metadata: one }: KubernetesObject, { metadata: other }: KubernetesObject) {
  return one.name < other.name ? -1 : 1;
}

/** Volumes and storage classes are cluster-scoped: application owners often may not read them. */
async function unlessForbidden<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isStatusError(error, "Forbidden")) return undefined;
    throw error;
  }
}

async function workloadsOf(
  strategy: Strategy,
  all: (resource: Resource<KubernetesObject>) => Promise<readonly KubernetesObject[]>,
  placed: ReadonlyMap<string, WorkloadPlacement>,
): Promise<readonly SnapshotWorkload[]> {
  const { workloads, copies } = strategy;
  const objects = await all(workloads);
  const made = copies === workloads ? objects : await all(copies);
  const accepted = objects.filter(isUnassigned).flatMap((one) => strategy.accept(one) ?? []);
  const byOwner = new Map<string, KubernetesObject[]>();
  for (const copy of made) {
    const { namespace = "", labels } = copy.metadata;
    const key = `${namespace}/${ownerLabelOf(labels)}`;
    const known = byOwner.get(key);
    if (known === undefined) byOwner.set(key, [copy]);
    else known.push(copy);
  }
  return accepted.map((workload) => {
    const { namespace = "", name } = workload.metadata;
    const near = byOwner.get(`${namespace}/${ownerLabelValue(name)}`) ?? [];
    const own = near.filter((one) => isCopyOf(one, workload));
    const copies = own.flatMap((one) => strategy.acceptCopy(one) ?? []);
    const placement = placed.get(
      keyOf({ namespace, name: workloadPlacementName(workloads, name) }),
    );
    return { strategy, workload, copies, placement };
  });
}

function keyOf({ namespace = "", name }: KubernetesObject["metadata"]): string {
  return `${namespace}/${name}`;
}

async function readGlobal(
  root: Client | undefined,
  call: { readonly signal?: AbortSignal },
): Promise<Placement | undefined> {
  if (root === undefined) return undefined;
  try {
    return await root.resource(placements).find({ name: globalPlacement.name }, call);
  } catch (error) {
    if (isStatusError(error, "Forbidden") || isStatusError(error, "NotFound")) return undefined;
    throw error;
  }
}
