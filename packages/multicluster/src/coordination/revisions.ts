/**
 * What a whole has been, for `kubectl rollout history` and `undo`: one ReplicaSet for each Pod template it has had, with no replicas, known by the
 * annotations that kubectl reads. The ReplicaSets that run Pods are in the clusters, and none of these.
 *
 * Pure; `keep-history.ts` does it. Numbers, limits and annotations are as Kubernetes' own deployment controller has them.
 */
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import {
  defineResource,
  type KubernetesObject,
  type ObjectInput,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import { ownedByLabel } from "../api/index.ts";
import { type Deployment, deployments } from "./deployment.ts";
import { ownerLabelValue, ownerReference, plain, shortened } from "./part.ts";

export interface Revision extends KubernetesObject {
  readonly spec: JsonObject;
}

export const revisions = defineResource<Revision>({
  group: "apps",
  version: "v1",
  resource: "replicasets",
  kind: "ReplicaSet",
  namespaced: true,
});

export const revisionAnnotation = "deployment.kubernetes.io/revision";
/** The numbers that a revision had before, with commas. */
const formerAnnotation = "deployment.kubernetes.io/revision-history";
const hashLabel = "pod-template-hash";
/** `spec.revisionHistoryLimit` if left out. */
export const historyLimitDefault = 10;

/** What each object has for itself. All others are the whole's, because `undo` brings them back with the template. */
const ownAnnotations: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  formerAnnotation,
  "deployment.kubernetes.io/desired-replicas",
  "deployment.kubernetes.io/max-replicas",
  "deprecated.deployment.rollback.to",
  "kcp.io/cluster",
]);

export interface HistoryPlan {
  readonly creation?: ObjectInput<Revision>;
  readonly update?: Revision;
  readonly removals: readonly Revision[];
  /** The number of what the whole says now. */
  readonly number: number;
}

/** Undefined when there is nothing to be recorded: no template, or a paused whole, whose new template nobody runs yet. */
export function planHistory(
  parent: Deployment,
  found: readonly Revision[],
): HistoryPlan | undefined {
  const { template, paused } = parent.spec as { template?: JsonValue; paused?: JsonValue };
  if (!isJsonObject(template)) return undefined;
  const known = found.filter(
    ({ metadata }) =>
      metadata.deletionTimestamp === undefined &&
      metadata.ownerReferences?.some(
        ({ controller, uid }) => controller === true && uid === parent.metadata.uid,
      ),
  );
  const hash = templateHash(parent, template);
  const name = revisionName(parent, hash);
  const current = known.find(({ metadata }) => metadata.name === name);
  if (current === undefined && paused === true) return undefined;
  const old = known.filter((one) => one !== current);
  const newest = Math.max(0, ...old.map(numberOf));
  const removals = forgotten(old, limitOf(parent));
  if (current === undefined) {
    const number = newest + 1;
    return { creation: newRevision(parent, template, { hash, name, number }), removals, number };
  }
  const number = numberOf(current) > newest ? numberOf(current) : newest + 1;
  const annotations = annotationsFor(parent, current, number);
  if (jsonEqual(annotations, current.metadata.annotations ?? {})) return { removals, number };
  const update = { ...current, metadata: { ...current.metadata, annotations } };
  return { update, removals, number };
}

export function numberOf({ metadata }: KubernetesObject): number {
  const text = stringMember(metadata.annotations, revisionAnnotation) ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** The oldest of those that are too many. */
function forgotten(old: readonly Revision[], limit: number): readonly Revision[] {
  const byAge = [...old].sort((a, b) => numberOf(a) - numberOf(b));
  return byAge.slice(0, Math.max(0, byAge.length - limit));
}

function limitOf({ spec }: Deployment): number {
  const { revisionHistoryLimit: limit } = spec as { revisionHistoryLimit?: JsonValue };
  return typeof limit === "number" && Number.isInteger(limit) && limit >= 0
    ? limit
    : historyLimitDefault;
}

function newRevision(
  parent: Deployment,
  template: JsonObject,
  { hash, name, number }: { readonly hash: string; readonly name: string; readonly number: number },
): ObjectInput<Revision> {
  const { namespace } = parent.metadata;
  const { selector } = parent.spec as { selector?: JsonValue };
  const { metadata: about } = template as { metadata?: JsonValue };
  const labels = plain(isJsonObject(about) ? (about["labels"] as StringMap | undefined) : {});
  const owner = { [ownedByLabel]: ownerLabelValue(parent.metadata.name) };
  return {
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...labels, [hashLabel]: hash, ...owner },
      annotations: annotationsFor(parent, undefined, number),
      ownerReferences: [ownerReference(deployments, parent)],
    },
    spec: {
      replicas: 0,
      selector: withLabel(selector, "matchLabels", hash),
      template: { ...template, metadata: withLabel(about, "labels", hash) },
    },
  };
}

function withLabel(value: JsonValue | undefined, field: string, hash: string): JsonObject {
  const object = isJsonObject(value) ? value : {};
  const { [field]: labels } = object;
  return { ...object, [field]: { ...(isJsonObject(labels) ? labels : {}), [hashLabel]: hash } };
}

function annotationsFor(
  parent: Deployment,
  current: Revision | undefined,
  number: number,
): Record<string, string> {
  const before = Object.entries(current?.metadata.annotations ?? {});
  const annotations = Object.fromEntries([
    ...Object.entries(parent.metadata.annotations ?? {}).filter(
      ([key]) => !ownAnnotations.has(key),
    ),
    ...before.filter(([key]) => ownAnnotations.has(key)),
  ]) as Record<string, string>;
  const former = current === undefined ? 0 : numberOf(current);
  if (former > 0 && former !== number) {
    const { [formerAnnotation]: list } = annotations;
    const numbers = list === undefined ? [] : list.split(",");
    annotations[formerAnnotation] = [...numbers, former].slice(-formerShownMax).join(",");
  }
  return { ...annotations, [revisionAnnotation]: String(number) };
}

/** Undone to and fro for years, it still fits an annotation. */
const formerShownMax = 100;

function revisionName({ metadata: { name } }: Deployment, hash: string): string {
  return shortened(`${name}-${hash}`, 253);
}

/**
 * Of what the template says, in whatever order, and with or without fields that say nothing: what kubectl puts back has been through its own types, which
 * add some of these and leave others out. Another whole of the same name has other hashes.
 */
function templateHash({ metadata: { uid = "" } }: Deployment, template: JsonObject): string {
  const text = uid + JSON.stringify(said(template));
  return createHash("sha256").update(text).digest("hex").slice(0, 10);
}

/** Undefined for null, and for objects and lists in which nothing is said. */
function said(value: JsonValue): JsonValue | undefined {
  if (value === null) return undefined;
  if (Array.isArray(value)) {
    return value.length === 0 ? undefined : value.map((one: JsonValue) => said(one) ?? null);
  }
  if (!isJsonObject(value)) return value;
  const entries: JsonValue[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = said(value[key] as JsonValue);
    if (member !== undefined) entries.push([key, member]);
  }
  return entries.length === 0 ? undefined : entries;
}
