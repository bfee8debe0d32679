/**
 * The writers of a SyncTarget's status. Each has fields and conditions of its own, which it applies
 * under its field manager; this module writes them all, and rejects a field of another writer.
 */
import type { Client, KubernetesObject } from "@kcp-ts/sdk";
import { drainedCondition } from "./drain.ts";
import {
  agentFieldManager,
  drainFieldManager,
  importerFieldManager,
  registrationFieldManager,
  schedulerFieldManager,
} from "./names.ts";
import { type SyncTargetStatus, syncTargets, targetConditions } from "./sync-target.ts";

interface StatusWriter {
  readonly fieldManager: string;
  readonly fields: readonly (keyof SyncTargetStatus)[];
  readonly conditions: readonly string[];
}

export const accessCondition = "SyncerAuthorized";
export const installedCondition = "SyncerInstalled";
/** In Pull mode; in Push mode, nodes are part of HeartbeatHealthy. */
export const nodesCondition = "NodesReady";
export const sharedOwnershipCondition = "SharedOwnership";

/** What is observed in the cluster: by the control plane, or in Pull and None mode by the agent. */
const observed = {
  fields: ["version", "clusterID", "alsoRegisteredAs", "capacity", "allocatable"],
  conditions: [accessCondition],
} as const;

const { ready, heartbeatHealthy, apiImporterReady, syncerReady } = targetConditions;

/** What the control plane decides, for clusters with and without an agent. */
const own = {
  fields: ["state", "leaseDurationSeconds", "registrations"],
  conditions: [ready, heartbeatHealthy, installedCondition, sharedOwnershipCondition],
} as const;

export const statusWriters = {
  /** The controller of SyncTargets, which also sums up all conditions in Ready. */
  registration: {
    fieldManager: registrationFieldManager,
    fields: own.fields,
    conditions: own.conditions,
  },
  /** The same controller, for a cluster in Push mode. */
  registrationInPushMode: {
    fieldManager: registrationFieldManager,
    fields: [...own.fields, ...observed.fields],
    conditions: [...own.conditions, ...observed.conditions],
  },
  agent: {
    fieldManager: agentFieldManager,
    fields: observed.fields,
    conditions: [...observed.conditions, nodesCondition],
  },
  apiImporter: { fieldManager: importerFieldManager, fields: [], conditions: [apiImporterReady] },
  syncers: {
    fieldManager: "kcp-syncers",
    fields: ["syncedResources", "formerResources"],
    conditions: [syncerReady],
  },
  drain: { fieldManager: drainFieldManager, fields: ["drain"], conditions: [drainedCondition] },
  scheduler: { fieldManager: schedulerFieldManager, fields: ["reserved"], conditions: [] },
  /** The server that an agent has dialled. */
  tunnels: { fieldManager: "kcp-tunnels", fields: ["tunnel"], conditions: [] },
} as const satisfies Readonly<Record<string, StatusWriter>>;

export type StatusWriterName = keyof typeof statusWriters;

export interface StatusWrite {
  /** A client of the SyncTarget's logical cluster. */
  readonly client: Client;
  readonly target: { readonly metadata: Pick<KubernetesObject["metadata"], "name" | "uid"> };
  readonly signal: AbortSignal;
  /** Fails if the SyncTarget has changed since it was read. */
  readonly isConditional?: boolean;
}

/** Applies all fields of one writer; those that are left out are removed. */
export async function writeSyncTargetStatus(
  { client, target, signal, isConditional = false }: StatusWrite,
  writer: StatusWriterName,
  status: SyncTargetStatus,
): Promise<void> {
  const { fieldManager, fields, conditions }: StatusWriter = statusWriters[writer];
  const { conditions: written = [], ...rest } = status;
  const foreign = [
    ...Object.keys(rest).filter((one) => !fields.includes(one as keyof SyncTargetStatus)),
    ...written.map(({ type }) => type).filter((type) => !conditions.includes(type)),
  ];
  if (foreign.length > 0) throw new Error(`${fieldManager} does not write ${foreign.join(", ")}`);
  const resource = client.resource(syncTargets);
  const object = isConditional ? resource.sameVersion(target) : resource.sameObject(target);
  await object.applyStatusFields(status, { fieldManager, force: true, signal });
}
