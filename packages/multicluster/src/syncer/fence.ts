/**
 * The fence: while an agent's lease has expired, all StopBeforeStart copies in its cluster are
 * stopped, repeatedly, and from information in the cluster alone: the control plane may be
 * unreachable, and may have been so since the agent started.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type DynamicObject, defineResource, pause, type Resource } from "@kcp-ts/sdk";
import { jobs } from "@kcp-ts/sdk/kinds";
import {
  downstreamLabel,
  fencedKinds,
  stopBeforeStartLabel,
  syncerFieldManager,
} from "../api/index.ts";
import type { SyncContext } from "./context.ts";
import type { Lease } from "./lease.ts";
import { targetKey } from "./origin.ts";

export interface FenceOptions {
  readonly context: SyncContext;
  readonly lease: Lease;
}

/**
 * All fenced kinds, not only the synced ones: an agent that starts without the control plane does
 * not know which kinds are synced.
 */
const stoppable: readonly Resource<DynamicObject>[] = fencedKinds.map((one) =>
  defineResource<DynamicObject>({ ...one, version: "v1", namespaced: true }),
);

/** The interval between checks. The control plane waits some seconds longer than this. */
const lookMs = 1000;

export async function runFence(options: FenceOptions): Promise<void> {
  const { context, lease } = options;
  const { clock, signal, onError } = context;
  while (!signal.aborted) {
    try {
      await pause(clock, lookMs, signal);
      if (lease.isGone) await stopAll(options);
    } catch (error) {
      if (!signal.aborted) onError(error);
    }
  }
}

async function stopAll({ context }: FenceOptions): Promise<void> {
  const { downstream, target, signal } = context;
  const schedules: DynamicObject[] = [];
  const labelSelector = `${downstreamLabel}=${targetKey(target)},${stopBeforeStartLabel}=true`;
  for (const resource of stoppable) {
    const client = downstream.resource(resource);
    try {
      for await (const { items } of client.pages({ labelSelector, signal })) {
        if (resource.kind === "CronJob") schedules.push(...items);
        for (const object of items) {
          const stop = stopPatchOf(resource.kind, object);
          const { name, namespace = "" } = object.metadata;
          // The patch uses the syncer's field manager: the syncer resets the field when the lease
          // is held again.
          const as = { fieldManager: syncerFieldManager, signal };
          if (stop === "delete") await client.delete({ namespace, name }, { signal });
          else if (stop !== undefined)
            await client.patch({ namespace, name }, { type: "merge", patch: stop }, as);
        }
      }
    } catch (error) {
      // The kind is not served, or the agent has no permission and hence no copies of it; or the
      // object was deleted meanwhile.
      if (!isStatusError(error, "NotFound") && !isStatusError(error, "Forbidden")) throw error;
    }
  }
  for (const schedule of schedules) await stopBegun(schedule, context);
}

/**
 * Jobs that a CronJob has created are owned by it and have no label of the syncer. They are
 * deleted, as a CronJob does with a Job that it replaces: a suspended Job would stay suspended, and
 * block the next one. A missing permission is reported.
 */
async function stopBegun(schedule: DynamicObject, context: SyncContext): Promise<void> {
  const { namespace = "", uid } = schedule.metadata;
  const { downstream, signal } = context;
  const client = downstream.resource(jobs);
  for await (const { items } of client.pages({ namespace, signal }))
    for (const { metadata, ...job } of items) {
      const isBegun = metadata.ownerReferences?.some(
        (owner) => owner.controller === true && owner.uid === uid,
      );
      const isGoing = metadata.deletionTimestamp !== undefined;
      if (isBegun !== true || isGoing || isOver(job["status"] as JsonValue | undefined)) continue;
      const { name, uid: own = "" } = metadata;
      const options = {
        preconditions: { uid: own },
        propagationPolicy: "Background" as const,
        signal,
      };
      try {
        await client.delete({ namespace, name }, options);
      } catch (error) {
        if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
      }
    }
}

function isOver(status: JsonValue | undefined): boolean {
  const { conditions = [] } = (status ?? {}) as {
    conditions?: readonly { readonly type: string; readonly status: string }[];
  };
  return conditions.some(
    ({ type, status: is }) => (type === "Complete" || type === "Failed") && is === "True",
  );
}

/** The patch that stops the object; undefined when it is stopped, or cannot be. */
export function stopPatchOf(
  kind: string,
  object: DynamicObject,
): JsonObject | "delete" | undefined {
  const spec = (object["spec"] ?? {}) as { replicas?: number; suspend?: boolean };
  switch (kind) {
    case "Deployment":
    case "StatefulSet":
    case "ReplicaSet":
      return spec.replicas === 0 ? undefined : { spec: { replicas: 0 } };
    case "Job":
    case "CronJob":
      return spec.suspend === true ? undefined : { spec: { suspend: true } };
    case "Pod":
      return object.metadata.deletionTimestamp === undefined ? "delete" : undefined;
    default:
      return undefined;
  }
}
