/**
 * A workload in one cluster, as traffic sees it: its Pods' labels, their number, and its traffic
 * holds.
 */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { Resource, StringMap } from "@kcp-ts/sdk";
import { assignedTargets, softFinalizersOf } from "../api/index.ts";
import { memberObjects, memberText, type TemplatedObject } from "./objects.ts";
import { valueAt, type WorkloadKind } from "./workload-kinds.ts";

export interface ServiceWorkload {
  readonly object: TemplatedObject;
  readonly resource: Resource<TemplatedObject>;
  readonly target: string;
  readonly podLabels: StringMap;
  readonly replicas: number | undefined;
  /** The unavailable replicas are past the cluster's own progress deadline. */
  readonly isStuck: boolean;
  readonly isDeleting: boolean;
  readonly holders: readonly string[];
}

/** One ServiceWorkload for each cluster that the object is assigned to. */
export function serviceWorkloadsOf(
  object: TemplatedObject,
  kind: WorkloadKind,
): readonly ServiceWorkload[] {
  const { metadata, status } = object;
  const isStuck = memberObjects(status, "conditions").some(
    (one) =>
      memberText(one, "type") === "Progressing" &&
      memberText(one, "reason") === "ProgressDeadlineExceeded",
  );
  return [...assignedTargets(metadata.labels)].map((target) => ({
    object,
    resource: kind.resource,
    target,
    podLabels: podLabelsOf(object, kind),
    replicas: kind.replicasOf(object),
    isStuck,
    isDeleting: metadata.deletionTimestamp !== undefined,
    holders: softFinalizersOf(metadata.annotations, target),
  }));
}

function podLabelsOf(object: TemplatedObject, { templatePath }: WorkloadKind): StringMap {
  const labels = valueAt(object, [...templatePath, "metadata", "labels"]);
  return (labels !== undefined && isJsonObject(labels) ? labels : {}) as StringMap;
}

/** Whether a Service selects these Pods; a Service without a selector selects none. */
export function isSelectedBy(
  { podLabels }: ServiceWorkload,
  serviceSpec: JsonObject | undefined,
): boolean {
  const selector = serviceSpec?.["selector"];
  if (selector === undefined || !isJsonObject(selector)) return false;
  const wanted = Object.entries(selector);
  return (
    wanted.length > 0 &&
    wanted.every(([key, value]) => Object.hasOwn(podLabels, key) && podLabels[key] === value)
  );
}
