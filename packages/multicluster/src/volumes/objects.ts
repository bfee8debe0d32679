/**
 * Claims, volumes and workloads as the volume controller reads them. Clusters define these kinds
 * themselves: invalid fields are read as absent.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";

export interface StoredObject extends KubernetesObject {
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
}

export const persistentVolumeClaims = defineResource<StoredObject>(kinds.persistentVolumeClaims);

export const persistentVolumes = defineResource<StoredObject>(kinds.persistentVolumes);

export const volumeSnapshots = defineResource<StoredObject>(kinds.volumeSnapshots);

export const volumeSnapshotContents = defineResource<StoredObject>(kinds.volumeSnapshotContents);

export const volumeSnapshotClasses = defineResource<StoredObject>(kinds.volumeSnapshotClasses);

export const storageClasses = defineResource<StoredObject>(kinds.storageClasses);

/**
 * How a user of claims is stopped in a cluster: by a patch of its spec there, by deletion, or not
 * at all, because it runs to completion.
 */
export type StopMethod =
  | { readonly by: "diff"; readonly diff: string }
  | { readonly by: "removal" | "end" };

/** A kind whose Pods use claims. */
export interface ClaimUserKind {
  readonly resource: Resource<StoredObject>;
  stopOf(object: StoredObject): StopMethod;
  /** Whether the object has completed. */
  hasEnded(object: StoredObject): boolean;
  /** Whether the object needs its claims at all. */
  replicasOf(object: StoredObject): number;
  /**
   * The running Pods that the cluster reports; undefined while the report is not about the newest
   * spec.
   */
  runningOf(object: StoredObject): number | undefined;
  /** The cluster reports that the object has started, or has nothing to start. */
  hasStarted(object: StoredObject): boolean;
}

export const statefulSets = defineResource<StoredObject>(kinds.statefulSets);

/** The spec patch that stops a fenced per-cluster object: 0 replicas. */
const noReplicas: StopMethod = {
  by: "diff",
  diff: '[{"op":"replace","path":"/replicas","value":0}]',
};
const suspension: StopMethod = {
  by: "diff",
  diff: '[{"op":"add","path":"/suspend","value":true}]',
};

const replicated: Omit<ClaimUserKind, "resource"> = {
  stopOf: () => noReplicas,
  hasEnded: () => false,
  replicasOf: ({ spec }) => countAt(spec, "replicas", 1),
  runningOf({ metadata, status }) {
    if (countAt(status, "observedGeneration", -1) < (metadata.generation ?? 0)) return undefined;
    // Terminating Pods still have their volumes. Clusters before 1.33 do not count them: there,
    // only the detached volume shows that they have ended.
    return countAt(status, "replicas", 0) + countAt(status, "terminatingReplicas", 0);
  },
  hasStarted: ({ spec, status }) =>
    countAt(status, "readyReplicas", 0) >= countAt(spec, "replicas", 1),
};

export const claimUserKinds: readonly ClaimUserKind[] = [
  { ...replicated, resource: defineResource(kinds.deployments) },
  { ...replicated, resource: statefulSets },
  {
    // A DaemonSet has no replicas that could be 0: it is deleted.
    resource: defineResource(kinds.daemonSets),
    stopOf: () => ({ by: "removal" }),
    hasEnded: () => false,
    replicasOf: () => 1,
    runningOf: () => 1,
    hasStarted: ({ status }) =>
      countAt(status, "numberReady", 0) >=
      Math.max(1, countAt(status, "desiredNumberScheduled", 1)),
  },
  {
    resource: defineResource(kinds.jobs),
    stopOf: () => ({ by: "end" }),
    hasEnded: ({ status }) =>
      listAt(status, "conditions").some(
        (one) =>
          ["Complete", "Failed"].includes(textAt(one, "type")) && textAt(one, "status") === "True",
      ),
    replicasOf: () => 1,
    runningOf: () => 1,
    hasStarted: ({ status }) => countAt(status, "ready", 0) + countAt(status, "succeeded", 0) > 0,
  },
  {
    resource: defineResource(kinds.cronJobs),
    stopOf: () => suspension,
    hasEnded: () => false,
    replicasOf: () => 1,
    // A CronJob's status has no observedGeneration.
    runningOf: ({ status }) => listAt(status, "active").length,
    // A CronJob starts its Jobs by its schedule.
    hasStarted: () => true,
  },
  {
    resource: defineResource(kinds.pods),
    stopOf: (pod) => ({ by: runsOnce(pod) ? "end" : "removal" }),
    hasEnded: (pod) =>
      runsOnce(pod) && ["Succeeded", "Failed"].includes(textAt(pod.status, "phase")),
    replicasOf: () => 1,
    runningOf: () => 1,
    hasStarted: ({ status }) => ["Running", "Succeeded"].includes(textAt(status, "phase")),
  },
];

function runsOnce({ spec }: StoredObject): boolean {
  const policy = textAt(spec, "restartPolicy");
  return policy !== "" && policy !== "Always";
}

export function listAt(value: JsonObject | undefined, name: string): readonly JsonObject[] {
  const found = value?.[name];
  return Array.isArray(found) ? (found as readonly JsonValue[]).filter(isJsonObject) : [];
}

export function objectAt(value: JsonValue | undefined, name: string): JsonObject {
  const found = value !== undefined && isJsonObject(value) ? value[name] : undefined;
  return found !== undefined && isJsonObject(found) ? found : {};
}

export function textAt(value: JsonObject | undefined, name: string): string {
  const found = value?.[name];
  return typeof found === "string" ? found : "";
}

export function countAt(value: JsonObject | undefined, name: string, otherwise: number): number {
  const found = value?.[name];
  return typeof found === "number" && Number.isInteger(found) && found >= 0 ? found : otherwise;
}

export function textsAt(value: JsonObject | undefined, name: string): readonly string[] {
  const found = value?.[name];
  return Array.isArray(found)
    ? (found as readonly JsonValue[]).filter((one) => typeof one === "string")
    : [];
}

/** The limit for annotations, which any user may write. */
export const annotationCharactersMax = 16_384;
