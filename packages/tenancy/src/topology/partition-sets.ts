/**
 * Reconciles PartitionSets: creates missing Partitions, deletes those that no shard is in any more.
 *
 * A reconcile is level-based and may be interrupted anywhere. The name of a Partition follows from
 * its content, so repeating a create does no harm, neither after a crash nor by two servers at
 * once.
 */
import {
  apiVersionOf,
  collectionKeyOf,
  type Draft,
  type Registry,
} from "@kcp-ts/apiserver/registry";
import {
  clusterPrefix,
  type Entry,
  objectKey,
  parseObjectKey,
  type Storage,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import { decodeObject, mayContain } from "@kcp-ts/apiserver/stored-object";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { type LabelSelectorObject, SelectorSyntaxError } from "@kcp-ts/machinery/selectors";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Replicas, replicaPrefix } from "../replicas/index.ts";
import {
  type Condition,
  clusterScoped,
  conditionsOf,
  createIfAbsent,
  errorCondition,
  member,
  readShard,
  setCondition,
  shards,
  systemWriteOptions,
  uncancelled,
} from "../workspaces/index.ts";
import { partitionSets, partitions, systemWrite } from "./kinds.ts";
import { listAllEntries } from "./list-all-entries.ts";
import {
  type Labels,
  type PartitionSetSpec,
  partitionName,
  partitionSelectors,
  selectorKey,
} from "./partitioning.ts";

export interface PartitionSetDependencies {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly watchCache: WatchCache;
  readonly now: () => number;
  /** The objects of other shards; undefined for the only shard. */
  readonly replicas?: Replicas | undefined;
}

interface PartitionSet extends PartitionSetSpec {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
}

/**
 * The retry interval while another object has a name: no event reports that the name is released.
 */
const nameTakenMs = 10_000;

/**
 * Reconciles one PartitionSet; returns the milliseconds until the next reconcile when it waits for
 * a change without an event.
 */
export async function reconcilePartitionSet(
  dependencies: PartitionSetDependencies,
  key: StorageKey,
): Promise<number | undefined> {
  const entry = await dependencies.watchCache.get(key, { kind: "latest" }, uncancelled);
  if (entry === undefined) return undefined;
  const object = decodeObject(entry);
  // The garbage collector deletes the Partitions, because the set owns them.
  if (member(object, "metadata")["deletionTimestamp"] !== undefined) return undefined;
  const set = readPartitionSet(parseObjectKey(key).cluster, object);
  let wanted: Map<string, LabelSelectorObject>;
  try {
    wanted = partitionSelectors(set, await labelsOfShards(dependencies));
  } catch (error) {
    if (!(error instanceof SelectorSyntaxError)) throw error;
    await report(dependencies, set, undefined, [
      errorCondition("PartitionSetValid", "InvalidSelector", error.message),
      errorCondition("PartitionsReady", "ErrorGeneratingPartitions", error.message),
    ]);
    return undefined;
  }
  const taken = await createAndDelete(dependencies, set, wanted);
  const message = `partition could not get created: there is another Partition named ${taken.join(", ")}`;
  await report(dependencies, set, wanted.size, [
    { type: "PartitionSetValid", status: "True" },
    taken.length === 0
      ? { type: "PartitionsReady", status: "True" }
      : errorCondition("PartitionsReady", "ErrorGeneratingPartitions", message),
  ]);
  return taken.length === 0 ? undefined : nameTakenMs;
}

/** The PartitionSet that owns a Partition. */
export function owningPartitionSet(
  { key }: Pick<Entry, "key">,
  partition: JsonObject,
): StorageKey | undefined {
  const name = ownerOf(partition)?.["name"];
  if (typeof name !== "string" || name === "") return undefined;
  return objectKey({ ...parseObjectKey(key), ...collectionKeyOf(partitionSets), name });
}

/** Returns the required names that objects of other owners have. */
async function createAndDelete(
  dependencies: PartitionSetDependencies,
  set: PartitionSet,
  wanted: ReadonlyMap<string, LabelSelectorObject>,
): Promise<string[]> {
  const { storage, registry } = dependencies;
  const { cluster, dimensions } = set;
  const isThere = new Set<string>();
  const names = new Set<string>();
  const all = clusterPrefix({ ...collectionKeyOf(partitions), cluster });
  for await (const entry of listAllEntries(storage, all)) {
    const { name } = parseObjectKey(entry.key);
    names.add(name);
    // Partitions of other owners, of which there may be many, are not decoded.
    const partition = mayContain(entry, Buffer.from(set.uid)) ? decodeObject(entry) : {};
    if (ownerOf(partition)?.["uid"] !== set.uid) continue;
    const key = selectorKey(selectorOf(partition));
    if (wanted.has(key)) isThere.add(key);
    else if (await isRemoved(registry, cluster, name)) names.delete(name);
  }
  const taken: string[] = [];
  for (const [key, selector] of wanted) {
    if (isThere.has(key)) continue;
    const name = partitionName(set, dimensions, selector);
    if (names.has(name)) taken.push(name);
    else
      await createIfAbsent(
        { registry },
        partitions,
        clusterScoped(cluster, name),
        partitionOf(set, selector),
      );
  }
  return taken;
}

/** False when a finalizer keeps the Partition. */
async function isRemoved(registry: Registry, cluster: ClusterName, name: string): Promise<boolean> {
  try {
    const address = clusterScoped(cluster, name);
    return (
      (await registry.delete(partitions, address, {}, systemWriteOptions)).outcome === "deleted"
    );
  } catch (error) {
    if (isStatusError(error, "NotFound")) return true;
    throw error;
  }
}

function partitionOf({ name, uid }: PartitionSet, selector: LabelSelectorObject): JsonObject {
  const owner = {
    apiVersion: apiVersionOf(partitionSets),
    kind: partitionSets.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    metadata: { ownerReferences: [owner] },
    spec: { selector: selector as unknown as JsonObject },
  };
}

async function report(
  { registry, now }: PartitionSetDependencies,
  { cluster, name }: PartitionSet,
  count: number | undefined,
  conditions: readonly Condition[],
): Promise<void> {
  const build = async (old: JsonObject | undefined): Promise<Draft> => {
    const status = member(old ?? {}, "status");
    const next = conditions.reduce(
      (known, one) => setCondition(known, one, now()),
      [...conditionsOf(status)],
    );
    return {
      ...old,
      status: { ...status, ...(count === undefined ? {} : { count }), conditions: next },
    };
  };
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerivedFromLive: true };
  try {
    await registry.update(partitionSets, clusterScoped(cluster, name), build, rules);
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}

async function labelsOfShards({ storage, replicas }: PartitionSetDependencies): Promise<Labels[]> {
  const found: Labels[] = [];
  const isElsewhere = replicas?.shardOf(rootCluster) !== undefined;
  const all = isElsewhere
    ? replicaPrefix(shards)
    : clusterPrefix({ ...collectionKeyOf(shards), cluster: rootCluster });
  for await (const entry of listAllEntries(storage, all))
    found.push(readShard(decodeObject(entry)).labels);
  return found;
}

function readPartitionSet(cluster: ClusterName, object: JsonObject): PartitionSet {
  const { name, uid } = member(object, "metadata");
  const { dimensions, shardSelector } = member(object, "spec");
  return {
    cluster,
    name: String(name),
    uid: String(uid),
    dimensions: Array.isArray(dimensions) ? dimensions.map(String) : [],
    shardSelector: isJsonObject(shardSelector) ? (shardSelector as LabelSelectorObject) : undefined,
  };
}

function selectorOf(partition: JsonObject): LabelSelectorObject {
  return member(member(partition, "spec"), "selector") as LabelSelectorObject;
}

function ownerOf(partition: JsonObject): JsonObject | undefined {
  const owners = member(partition, "metadata")["ownerReferences"];
  if (!Array.isArray(owners)) return undefined;
  return owners
    .filter(isJsonObject)
    .find(
      ({ kind, apiVersion }) =>
        kind === partitionSets.kind && apiVersion === apiVersionOf(partitionSets),
    );
}
