/** Reads a fleet as its owner may: what is not served is not there, and what may not be read is said. */
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
import type { SnapshotWorkload, WorkspaceSnapshot } from "./fleet.ts";

export interface ReadSnapshotOptions {
  /** Of the workspace. */
  readonly client: Client;
  /** Of `root`, for the Placement that is everybody's; it is left out for who may not read it. */
  readonly root?: Client;
  /** Of the workspace, if that is known; it is read off what is there otherwise. */
  readonly cluster?: ClusterName;
  /** Those that come with the control plane, and those of the workspace, if left out. */
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
  const known = await Promise.all(strategies.map((strategy) => workloadsOf(strategy, all)));
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

/** Of one kind the first by name that can be used, as it is when it is coordinated. */
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

/** Volumes and classes are of no namespace: who owns an application may often not see them. */
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
): Promise<readonly SnapshotWorkload[]> {
  const { wholes, parts } = strategy;
  const objects = await all(wholes);
  const made = parts === wholes ? objects : await all(parts);
  const accepted = objects.filter(isUnassigned).flatMap((one) => strategy.accept(one) ?? []);
  const byOwner = new Map<string, KubernetesObject[]>();
  for (const part of made) {
    const { namespace = "", labels } = part.metadata;
    const key = `${namespace}/${ownerLabelOf(labels)}`;
    const known = byOwner.get(key);
    if (known === undefined) byOwner.set(key, [part]);
    else known.push(part);
  }
  return accepted.map((whole) => {
    const { namespace = "", name } = whole.metadata;
    const near = byOwner.get(`${namespace}/${ownerLabelValue(name)}`) ?? [];
    const own = near.filter((one) => isCopyOf(one, whole));
    return { strategy, whole, parts: own.flatMap((one) => strategy.acceptPart(one) ?? []) };
  });
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
