/**
 * Labels of a Job's Pods. In the cluster they name the downstream Job: a per-cluster object, with a
 * uid that is unknown upstream. On the upsynced Pods they name the upstream Job, so that its
 * selector, and `-l job-name=…`, find exactly the copies of its Pods.
 */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { ObjectKey, Resource, StringMap } from "@kcp-ts/sdk";
import { ownedByLabels } from "../api/index.ts";
import type { CachedObject } from "./cached-object.ts";
import type { KindView } from "./kind-view.ts";

/** A Job that Pods are labelled with. */
export interface KnownJob {
  readonly name: string;
  readonly uid: string;
}

/**
 * The upstream Job of a Pod: `uid` is the uid of the downstream Job. Undefined for a Pod that does
 * not belong to a synced Job.
 */
export function jobOf(
  { metadata }: CachedObject,
  { cluster, namespace }: ObjectKey,
  jobs: Pick<KindView, "upstreamObject"> | undefined,
): KnownJob | undefined {
  const { controller } = metadata;
  if (controller?.kind !== "Job" || controller.apiVersion !== "batch/v1") return undefined;
  const job = jobs?.upstreamObject({ cluster, namespace, name: controller.name });
  if (job === undefined) return undefined;
  const { name, uid, labels, controller: workload } = job.metadata;
  const isPart = ownedByLabels.some((label) => labels?.[label] !== undefined);
  return isPart && workload !== undefined
    ? { name: workload.name, uid: workload.uid }
    : { name, uid };
}

/**
 * Labels as kube-apiserver sets them on the Pods of a Job; labels that a user chose are unchanged.
 */
export function withJobLabels(labels: StringMap, { name, uid }: KnownJob): StringMap {
  const known = new Map([
    ["batch.kubernetes.io/controller-uid", uid],
    ["batch.kubernetes.io/job-name", name],
    ["controller-uid", uid],
    ["job-name", name],
  ]);
  return Object.fromEntries(
    Object.entries(labels).map(([label, value]) => [label, known.get(label) ?? value]),
  );
}

/** The cluster generates the Job's selector from the downstream uid, and rejects any other. */
export function withoutGivenSelector({ kind, group }: Resource, body: JsonObject): JsonObject {
  const { spec } = body as { spec?: JsonObject };
  if (kind !== "Job" || group !== "batch" || spec === undefined || !isJsonObject(spec)) return body;
  if (spec["manualSelector"] === true || spec["selector"] === undefined) return body;
  const { selector: _, ...rest } = spec;
  return { ...body, spec: rest };
}
