/** Reads and writes the WorkloadPlacement of a workload, whose status is the placement record. */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { apiVersionOf, type Client, type ObjectKey, type Resource } from "@kcp-ts/sdk";
import {
  movedReplicas,
  placementDecisions,
  type WorkloadPlacement,
  workloadPlacementName,
  workloadPlacements,
} from "../api/index.ts";
import { ownerReference, withoutInternalKeys } from "./cluster-copy.ts";
import { isSameRecord, type PlacementRecord } from "./placement-record.ts";
import type { Workload } from "./workload.ts";

/** The WorkloadPlacement as it was read or written last. */
export interface StoredPlacement {
  /** Undefined when it does not exist. */
  readonly object: WorkloadPlacement | undefined;
  /** Undefined also for the record of a workload that was deleted and created again. */
  readonly record: PlacementRecord | undefined;
}

export async function readPlacement(
  client: Client,
  workloads: Resource<Workload>,
  { namespace, name }: ObjectKey,
  signal: AbortSignal,
): Promise<WorkloadPlacement | undefined> {
  const key = { namespace, name: workloadPlacementName(workloads, name) };
  return await client.resource(workloadPlacements).find(key, { signal });
}

/**
 * Deletes the record of a workload that was deleted without its dependents. With its owner the
 * garbage collector deletes it, and no other client may.
 */
export async function deleteOrphanedPlacement(
  client: Client,
  workloads: Resource<Workload>,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<void> {
  const found = await readPlacement(client, workloads, key, signal);
  if (found === undefined || (found.metadata.ownerReferences ?? []).length > 0) return;
  await client.resource(workloadPlacements).sameVersion(found).remove({ signal });
}

export function storedPlacement(
  object: WorkloadPlacement | undefined,
  { metadata: { uid } }: Workload,
): StoredPlacement {
  const isOwned = object?.metadata.ownerReferences?.some((one) => one.uid === uid) === true;
  return { object, record: isOwned ? object.status : undefined };
}

/**
 * Writes the record, unless it is stored already. The write fails when another one came first: the
 * decision is then made again.
 */
export async function writePlacement(
  client: Client,
  workloads: Resource<Workload>,
  parent: Workload,
  stored: StoredPlacement,
  record: PlacementRecord,
  signal: AbortSignal,
): Promise<StoredPlacement> {
  const resource = client.resource(workloadPlacements);
  const { namespace, name } = parent.metadata;
  const labels = withoutInternalKeys(parent.metadata.labels);
  const { object } = stored;
  if (object === undefined) {
    const placement = {
      metadata: {
        ...(namespace === undefined ? {} : { namespace }),
        name: workloadPlacementName(workloads, name),
        labels,
        ownerReferences: [ownerReference(workloads, parent)],
      },
      spec: { workloadRef: { apiVersion: apiVersionOf(workloads), kind: workloads.kind, name } },
      status: record,
    };
    const created = await resource.create(placement, { signal });
    countDecision(workloads.kind, undefined, record);
    return { object: created, record };
  }
  const isLabelled = jsonEqual(labels as JsonValue, (object.metadata.labels ?? {}) as JsonValue);
  if (isLabelled && isSameRecord(stored.record, record)) return stored;
  const ownerReferences = [ownerReference(workloads, parent)];
  const metadata = { ...object.metadata, labels, ownerReferences };
  const written = await resource.update({ ...object, metadata, status: record }, { signal });
  countDecision(workloads.kind, stored.record, record);
  return { object: written, record };
}

function countDecision(
  kind: string,
  before: PlacementRecord | undefined,
  after: PlacementRecord,
): void {
  placementDecisions.with({ kind }).increment();
  const old = new Map((before?.clusters ?? []).map(({ name, desired = 0 }) => [name, desired]));
  let [more, fewer] = [0, 0];
  for (const { name, desired = 0 } of after.clusters ?? []) {
    const change = desired - (old.get(name) ?? 0);
    old.delete(name);
    if (change > 0) more += change;
    else fewer -= change;
  }
  for (const desired of old.values()) fewer += desired;
  movedReplicas.increment(Math.min(more, fewer));
}
