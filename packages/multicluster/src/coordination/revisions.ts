/**
 * The revisions of a workload, for `kubectl rollout history` and `undo`: one ReplicaSet without
 * replicas for each Pod template that the workload has had, with the annotations that kubectl
 * reads. The clusters have ReplicaSets of their own for running Pods; these are separate objects.
 *
 * Pure; `revision-writer.ts` writes them. Numbers, limits and annotations match those of
 * Kubernetes' deployment controller.
 */
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import {
  defineResource,
  type KubernetesObject,
  type ObjectInput,
  type Resource,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import { replicaSets } from "@kcp-ts/sdk/kinds";
import { ownedByLabel } from "../api/index.ts";
import {
  ownerLabelValue,
  ownerReference,
  shortenName,
  withoutInternalKeys,
} from "./cluster-copy.ts";
import { deployments } from "./deployment.ts";
import type { Workload } from "./workload.ts";

export interface Revision extends KubernetesObject {
  readonly spec: JsonObject;
}

export const revisions = defineResource<Revision>(replicaSets);

export const revisionAnnotation = "deployment.kubernetes.io/revision";
/** The comma-separated numbers that a revision had before. */
const formerRevisionsAnnotation = "deployment.kubernetes.io/revision-history";
const hashLabel = "pod-template-hash";
/** The default of `spec.revisionHistoryLimit`. */
export const historyLimitDefault = 10;

/**
 * Annotations that each object has for itself. Revisions copy all others from the workload, because
 * `undo` restores them with the template.
 */
const ownAnnotations: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  formerRevisionsAnnotation,
  "deployment.kubernetes.io/desired-replicas",
  "deployment.kubernetes.io/max-replicas",
  "deprecated.deployment.rollback.to",
  "kcp.io/cluster",
]);

/** The kind of object that stores the revisions of a workload kind. */
export interface RevisionKind<Kept extends KubernetesObject> {
  readonly resource: Resource<Kept>;
  /** The revision number; 0 for an object without a number. */
  numberOf(kept: Kept): number;
  newRevision(
    parent: Workload,
    template: JsonObject,
    about: { readonly hash: string; readonly name: string; readonly number: number },
  ): ObjectInput<Kept>;
  withRevision(kept: Kept, parent: Workload, number: number): Kept;
}

export interface RevisionPlan<Kept extends KubernetesObject = Revision> {
  readonly creation?: ObjectInput<Kept>;
  readonly update?: Kept;
  readonly removals: readonly Kept[];
  /** The revision number of the current template. */
  readonly number: number;
}

/**
 * Undefined when no revision is to be recorded: the workload has no template, or is paused, so that
 * no cluster runs its new template yet.
 */
export function planRevisions<Kept extends KubernetesObject>(
  parent: Workload,
  found: readonly Kept[],
  form: RevisionKind<Kept>,
): RevisionPlan<Kept> | undefined {
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
  const newest = Math.max(0, ...old.map((one) => form.numberOf(one)));
  const removals = forgotten(old, limitOf(parent), form);
  if (current === undefined) {
    const number = newest + 1;
    return {
      creation: form.newRevision(parent, template, { hash, name, number }),
      removals,
      number,
    };
  }
  const before = form.numberOf(current);
  const number = before > newest ? before : newest + 1;
  const update = form.withRevision(current, parent, number);
  const isSame =
    before === number &&
    jsonEqual(update.metadata.annotations ?? {}, current.metadata.annotations ?? {});
  return isSame ? { removals, number } : { update, removals, number };
}

export const deploymentRevisions: RevisionKind<Revision> = {
  resource: revisions,
  numberOf,
  newRevision: newRevision,
  withRevision: (kept, parent, number) => ({
    ...kept,
    metadata: { ...kept.metadata, annotations: annotationsFor(parent, kept, number) },
  }),
};

export function numberOf({ metadata }: KubernetesObject): number {
  const text = stringMember(metadata.annotations, revisionAnnotation) ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** The oldest revisions beyond the history limit. */
function forgotten<Kept extends KubernetesObject>(
  old: readonly Kept[],
  limit: number,
  form: RevisionKind<Kept>,
): readonly Kept[] {
  const byAge = [...old].sort((a, b) => form.numberOf(a) - form.numberOf(b));
  return byAge.slice(0, Math.max(0, byAge.length - limit));
}

function limitOf({ spec }: Workload): number {
  const { revisionHistoryLimit: limit } = spec as { revisionHistoryLimit?: JsonValue };
  return typeof limit === "number" && Number.isInteger(limit) && limit >= 0
    ? limit
    : historyLimitDefault;
}

function newRevision(
  parent: Workload,
  template: JsonObject,
  { hash, name, number }: { readonly hash: string; readonly name: string; readonly number: number },
): ObjectInput<Revision> {
  const { namespace } = parent.metadata;
  const { selector } = parent.spec as { selector?: JsonValue };
  const { metadata: about } = template as { metadata?: JsonValue };
  const labels = templateLabels(template);
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

/** The template's labels without internal keys. */
export function templateLabels({ metadata: about }: JsonObject): StringMap {
  const isObject = about !== undefined && isJsonObject(about);
  return withoutInternalKeys(isObject ? (about["labels"] as StringMap | undefined) : {});
}

function withLabel(value: JsonValue | undefined, field: string, hash: string): JsonObject {
  const object = isJsonObject(value) ? value : {};
  const { [field]: labels } = object;
  return { ...object, [field]: { ...(isJsonObject(labels) ? labels : {}), [hashLabel]: hash } };
}

function annotationsFor(
  parent: Workload,
  current: Revision | undefined,
  number: number,
): Record<string, string> {
  const before = Object.entries(current?.metadata.annotations ?? {});
  const annotations = Object.fromEntries([
    ...Object.entries(annotationsOf(parent)),
    ...before.filter(([key]) => ownAnnotations.has(key)),
  ]) as Record<string, string>;
  const former = current === undefined ? 0 : numberOf(current);
  if (former > 0 && former !== number) {
    const { [formerRevisionsAnnotation]: list } = annotations;
    const numbers = list === undefined ? [] : list.split(",");
    annotations[formerRevisionsAnnotation] = [...numbers, former].slice(-formerShownMax).join(",");
  }
  return { ...annotations, [revisionAnnotation]: String(number) };
}

/** The workload's annotations that its revisions copy. */
export function annotationsOf({ metadata }: Workload): Record<string, string> {
  const own = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(own.filter(([key]) => !ownAnnotations.has(key)));
}

/** Limits the annotation's length for a workload that was rolled back to and fro for years. */
const formerShownMax = 100;

/** The name of the newest template's revision; undefined for a workload without a template. */
export function currentRevisionName(parent: Workload): string | undefined {
  const { template } = parent.spec as { template?: JsonValue };
  return isJsonObject(template) ? revisionName(parent, templateHash(parent, template)) : undefined;
}

function revisionName({ metadata: { name } }: Workload, hash: string): string {
  return shortenName(`${name}-${hash}`, 253);
}

/**
 * The hash of a template, independent of the order of its fields and of empty fields: a template
 * that kubectl restores has passed through kubectl's types, which add some empty fields and omit
 * others. Another workload of the same name has other hashes.
 */
function templateHash({ metadata: { uid = "" } }: Workload, template: JsonObject): string {
  const text = uid + JSON.stringify(said(template));
  return createHash("sha256").update(text).digest("hex").slice(0, 10);
}

/** The value without null, and without objects and lists that are empty. */
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
