/**
 * Admission of copies of what runs in a physical cluster, of all kinds: the syncer of that cluster writes them, and nobody else.
 *
 * The label by which they say so is what the server knows them by: it is there from the first to the last write, and only on what a syncer has made. By it, what a cluster
 * has written is never scheduled, followed by Secrets, or given access to the control plane. They may be deleted, which restarts a Pod.
 */

import type { AdmissionPlugin, AdmissionRequest, Authorizer } from "@kcp-ts/apiserver";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import {
  assignedTargets,
  clusterLabels,
  registrationFieldManager,
  type SyncTargetReference,
  serviceNameOf,
  stateLabel,
  stateLabelPrefix,
  stateUpsync,
  syncerFieldManager,
} from "@kcp-ts/multicluster";
import { type Client, defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";
import { namespaceNotSynced, type SyncedNamespaces } from "./given-namespaces.ts";
import { maySync } from "./may-sync.ts";

export interface UpsyncAdmissionOptions {
  readonly authorizer: () => Authorizer;
  /** Where a SyncTarget is that is called so by a logical cluster that it is not in. */
  readonly sharedPlace: (
    cluster: ClusterName,
    name: string,
  ) => Promise<SyncTargetReference | undefined>;
  readonly given: Pick<SyncedNamespaces, "has">;
  /** May read Services everywhere. */
  readonly client: () => Client;
}

export function upsyncAdmission(options: UpsyncAdmissionOptions): AdmissionPlugin {
  return {
    name: "CopiesOfClusters",
    // Ephemeral containers are added to the Pod itself, and the copy follows.
    concerns: ({ subresource, operation }) =>
      subresource !== "ephemeralcontainers" && (operation === "CREATE" || operation === "UPDATE"),
    validate(request, object, old) {
      const [now, before] = [copiedFrom(object), old === undefined ? [] : copiedFrom(old)];
      if (now.length === 0 && before.length === 0) return undefined;
      if (old !== undefined) checkSameCopy(request, now, before);
      checkUnassigned(request, object);
      return checkCopy(request, object, { now, before }, options);
    },
  };
}

async function checkCopy(
  request: AdmissionRequest,
  object: JsonObject,
  copied: UpsyncedWrite,
  options: UpsyncAdmissionOptions,
): Promise<void> {
  // Others may annotate a copy, but for Pods: what is written there changes nothing in the cluster.
  if (request.operation === "CREATE" || isPod(request)) await checkWriter(request, copied, options);
  if (request.operation === "CREATE") await checkSyncedNamespace(request, copied.now, options);
  await checkService(request, object, copied.now, options);
}

/** A cluster speaks of what was given to it: where nothing was, nothing of it can run. */
async function checkSyncedNamespace(
  { cluster, namespace, name, group, resource }: AdmissionRequest,
  targets: readonly string[],
  { given }: UpsyncAdmissionOptions,
): Promise<void> {
  // What has no namespace is the cluster's own, and comes up to its owner alone.
  if (namespace === "") return;
  for (const target of targets) {
    if (await given.has({ cluster, namespace }, target)) continue;
    throw statusError.forbidden({ group, resource }, name, namespaceNotSynced(namespace, target));
  }
}

/** A cluster says what is behind the Services that are assigned to it, and behind no others. */
async function checkService(
  request: AdmissionRequest,
  object: JsonObject,
  targets: readonly string[],
  { client }: UpsyncAdmissionOptions,
): Promise<void> {
  const { cluster, namespace, name, group, resource } = request;
  const labels = labelsOf(object) as StringMap;
  const service = serviceNameOf(request, { name, labels });
  const isLeaving =
    isJsonObject(object["metadata"] ?? null) &&
    "deletionTimestamp" in (object["metadata"] as JsonObject);
  if (service === undefined || isLeaving) return;
  const found = await client()
    .inCluster(cluster)
    .resource(services)
    .find({ namespace, name: service });
  const assigned = assignedTargets(found?.metadata.labels);
  const stranger = targets.find((target) => !assigned.has(target));
  if (stranger === undefined) return;
  throw statusError.forbidden(
    { group, resource },
    name,
    `Service ${service} is not assigned to ${stranger}, which therefore has no endpoints of it`,
  );
}

const services = defineResource<KubernetesObject>({
  group: "",
  version: "v1",
  resource: "services",
  kind: "Service",
  namespaced: true,
});

interface UpsyncedWrite {
  readonly now: readonly string[];
  readonly before: readonly string[];
}

/** What says where an object comes from is said when it is made: later it would be a way to have what a cluster wrote taken for what its owner wrote. */
function checkSameCopy(
  { group, resource, name }: AdmissionRequest,
  now: readonly string[],
  before: readonly string[],
): void {
  for (const target of new Set([...now, ...before])) {
    if (now.includes(target) && before.includes(target)) continue;
    throw statusError.forbidden(
      { group, resource },
      name,
      before.includes(target)
        ? `the label ${stateLabel(target)}: ${stateUpsync} stays on a copy of what runs in ${target} as long as the copy is there: delete it instead`
        : `the label ${stateLabel(target)}: ${stateUpsync} says that it was copied up from ${target}, which is said when an object is created`,
    );
  }
}

/** A copy of what runs in one cluster is not to run in another. */
function checkUnassigned({ group, resource, name }: AdmissionRequest, object: JsonObject): void {
  const labels = labelsOf(object);
  const assigning = Object.keys(labels).find(
    (label) =>
      labels[label] !== "" &&
      (clusterLabels.includes(label) ||
        (label.startsWith(stateLabelPrefix) && labels[label] !== stateUpsync)),
  );
  if (assigning === undefined) return;
  throw statusError.forbidden(
    { group, resource },
    name,
    `it is a copy of what runs in a cluster, and the label ${assigning} would have it run in another`,
  );
}

function isPod({ group, resource }: AdmissionRequest): boolean {
  return resource === "pods" && group === "";
}

async function checkWriter(
  request: AdmissionRequest,
  { now, before }: UpsyncedWrite,
  options: UpsyncAdmissionOptions,
): Promise<void> {
  for (const target of new Set([...before, ...now])) {
    if (await isSyncer(request, target, options)) continue;
    const { group, resource, name } = request;
    throw statusError.forbidden(
      { group, resource },
      name,
      before.includes(target)
        ? `it is a copy of a ${request.kind} in ${target} and cannot be changed here: change what the ${request.kind} was made from, or delete it to have it restarted`
        : `the label ${stateLabel(target)}: ${stateUpsync} says that it runs in ${target}, which only the syncer of ${target} can say`,
    );
  }
}

/** The SyncTargets that an object says it is a copy from. */
function copiedFrom(object: JsonObject): readonly string[] {
  let targets = none;
  const labels = labelsOf(object);
  for (const label of Object.keys(labels)) {
    if (labels[label] !== stateUpsync || !label.startsWith(stateLabelPrefix)) continue;
    targets = [...targets, label.slice(stateLabelPrefix.length)];
  }
  return targets;
}

const none: readonly string[] = [];

function labelsOf({ metadata }: JsonObject): JsonObject {
  const labels = metadata !== undefined && isJsonObject(metadata) ? metadata["labels"] : undefined;
  return labels !== undefined && isJsonObject(labels) ? labels : {};
}

/** The syncer; and who lets go of what it held, when there is none any more. */
const writers: ReadonlySet<JsonValue | undefined> = new Set([
  syncerFieldManager,
  registrationFieldManager,
]);

/** Who may sync to the cluster, and says that it is what they do: an administrator who types is no syncer. */
async function isSyncer(
  { user, cluster, options }: AdmissionRequest,
  name: string,
  { authorizer, sharedPlace }: UpsyncAdmissionOptions,
): Promise<boolean> {
  if (!writers.has(options["fieldManager"])) return false;
  // Who may sync to a cluster of another workspace is said there, not by those who use it.
  const place = (await sharedPlace(cluster, name)) ?? { cluster, name };
  return maySync(authorizer(), user, place);
}
