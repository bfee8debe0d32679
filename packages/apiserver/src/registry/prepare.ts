/**
 * Prepares every written object for the store: system fields, the resource's strategy, validation.
 */
import { type Clock, type Random, runYielding } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  withMember,
} from "@kcp-ts/machinery/json";
import {
  type ObjectMeta,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "@kcp-ts/machinery/meta";
import { generateName } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError, StatusError, statusError } from "@kcp-ts/machinery/status";
import type { UserInfo } from "../request/user.ts";
import { clusterAnnotation } from "../stored-object/index.ts";
import type { ObjectAddress } from "./registry.ts";
import { apiVersionOf, collectionKeyOf, type ResourceDefinition } from "./resource-definition.ts";
import type { Draft, SubresourceStrategy, ValidationResult, WriteContext } from "./strategy.ts";

export interface PrepareContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly newUid: () => string;
  readonly user: UserInfo | undefined;
}

export interface PreparedObject {
  readonly object: JsonObject;
  /** The object before the strategy changed it: the fields that the sender owns. */
  readonly sent: JsonObject;
  /** For the sender of the valid object. */
  readonly warnings: readonly string[];
}

const noWarnings: readonly string[] = [];

export async function prepareCreate(
  definition: ResourceDefinition,
  address: ObjectAddress,
  draft: Draft,
  context: PrepareContext,
): Promise<PreparedObject> {
  const sent = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
  if (typeof sent["resourceVersion"] === "string" && sent["resourceVersion"] !== "") {
    throw new StatusError({
      code: 500,
      message: "resourceVersion should not be set on objects to be created",
    });
  }
  const { strategy } = definition;
  const metadata = withoutSystemFields(sent);
  const { name, generateName: prefix } = sent;
  if (typeof name === "string" && name !== "") metadata["name"] = name;
  else if (typeof prefix === "string" && prefix !== "")
    metadata["name"] = generateName(prefix, context.random);
  if (definition.isNamespaced) metadata["namespace"] = address.namespace;
  metadata["uid"] = context.newUid();
  metadata["creationTimestamp"] = timestamp(context.clock.now());
  if (metadata["annotations"] !== undefined) removeClusterAnnotation(metadata);

  draft["kind"] = definition.kind;
  draft["apiVersion"] = apiVersionOf(definition);
  draft["metadata"] = metadata;
  const before: Draft | undefined = strategy.ownsOnlySentFields === true ? { ...draft } : undefined;
  const written = { nowMs: context.clock.now(), user: context.user };
  strategy.prepareForCreate(draft, written);
  strategy.canonicalize?.(draft);
  const errors = validateObjectMeta(withoutManagers(metadata), {
    isNamespaced: definition.isNamespaced,
    nameErrors: strategy.nameErrors,
    requireQualifiedFinalizers: needsQualifiedFinalizers(definition),
  });
  await throwIfInvalid(definition, metadata["name"], errors, strategy.validate(draft, written));
  const warnings = strategy.warnings?.(draft) ?? noWarnings;
  return { object: draft, sent: before ?? draft, warnings };
}

/** A validation that takes more than one step yields to the event loop. */
async function throwIfInvalid(
  definition: ResourceDefinition,
  name: JsonValue | undefined,
  errors: readonly FieldError[],
  result: ValidationResult,
): Promise<void> {
  let found: readonly FieldError[];
  if (Array.isArray(result)) {
    found = result;
  } else {
    const first = result.next();
    found = first.done === true ? first.value : await runYielding(result);
  }
  if (errors.length === 0 && found.length === 0) return;
  throw statusError.invalid(kindOf(definition), String(name ?? ""), [...errors, ...found]);
}

/** The object without the mutations of admission: its sender does not own the mutated fields. */
export function prepareAsSent(
  definition: ResourceDefinition,
  sent: Draft,
  object: JsonObject,
  context: WriteContext,
  update?: { readonly old: JsonObject; readonly subresource: SubresourceStrategy | undefined },
): PreparedObject {
  const { strategy } = definition;
  const { metadata, kind, apiVersion } = object as { metadata: Draft; [member: string]: JsonValue };
  const sentMetadata = sent["metadata"] as Draft;
  const own: Draft = { ...metadata };
  for (const member of changeableMetadata) {
    const value = sentMetadata[member];
    if (value === undefined) delete own[member];
    else own[member] = value;
  }
  removeClusterAnnotation(own);
  const draft: Draft = { ...sent, kind, apiVersion, metadata: own } as Draft;
  if (update !== undefined)
    (update.subresource ?? strategy).prepareForUpdate(draft, update.old, context);
  else if (strategy.ownsOnlySentFields !== true) strategy.prepareForCreate(draft, context);
  if (update !== undefined || strategy.ownsOnlySentFields !== true) strategy.canonicalize?.(draft);
  return { object, sent: draft, warnings: noWarnings };
}

const changeableMetadata = ["annotations", "finalizers", "labels", "ownerReferences"];

/** A kind that is stored as one of another group is named as the stored one. */
function kindOf(definition: ResourceDefinition): { group: string; kind: string } {
  return { group: collectionKeyOf(definition).group, kind: definition.kind };
}

export interface UpdateRules {
  readonly subresource?: SubresourceStrategy | undefined;
  /** The draft was created from the stored object, so that it needs no resourceVersion. */
  readonly isDerivedFromLive?: boolean;
}

export async function prepareUpdate(
  definition: ResourceDefinition,
  draft: Draft,
  old: JsonObject,
  { subresource, isDerivedFromLive = false }: UpdateRules,
  context: WriteContext,
): Promise<PreparedObject> {
  const rules = subresource ?? definition.strategy;
  const oldMetadata = old["metadata"] as JsonObject;
  const name = String(oldMetadata["name"]);
  const sent = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
  const needsVersion = !definition.strategy.allowsUnconditionalUpdate && !isDerivedFromLive;
  if (needsVersion && !sent["resourceVersion"]) {
    // Named by its resource where other errors name the kind, as in Kubernetes.
    const { group, resource } = definition;
    throw statusError.invalid({ group, kind: resource }, name, [
      fieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update"),
    ]);
  }
  const metadata: Draft = {};
  for (const key of Object.keys(sent))
    if (!preservedFields.has(key)) metadata[key] = sent[key] as JsonValue;
  // An omitted namespace is that of the path; on a cluster-scoped kind it is ignored.
  if (!definition.isNamespaced) delete metadata["namespace"];
  else if (!metadata["namespace"]) metadata["namespace"] = oldMetadata["namespace"] as string;
  // Only the server sets these fields.
  for (const field of preservedFields) {
    const value = oldMetadata[field] ?? (startsDeletion.has(field) ? sent[field] : undefined);
    if (value !== undefined) metadata[field] = value;
  }
  // A patch that changes the uid does not refer to another object, as an update does: it is
  // invalid.
  if (isDerivedFromLive && sent["uid"]) metadata["uid"] = sent["uid"];
  removeClusterAnnotation(metadata);
  draft["kind"] = definition.kind;
  draft["apiVersion"] = apiVersionOf(definition);
  draft["metadata"] = metadata;
  rules.prepareForUpdate(draft, old, context);
  // A strategy that restores the old metadata restores the cluster annotation with it.
  if (draft["metadata"] !== metadata) removeClusterAnnotation(draft["metadata"] as Draft);
  definition.strategy.canonicalize?.(draft);
  const errors = validateObjectMetaUpdate(withoutManagers(metadata), withoutManagers(oldMetadata), {
    requireQualifiedFinalizers: needsQualifiedFinalizers(definition),
  });
  await throwIfInvalid(definition, name, errors, rules.validateUpdate(draft, old, context));
  bumpGeneration(draft, old);
  const isMain = subresource === undefined;
  const warnings = (isMain && definition.strategy.warnings?.(draft, old)) || noWarnings;
  return { object: draft, sent: draft, warnings };
}

function needsQualifiedFinalizers({ itemsCarryKind, strategy }: ResourceDefinition): boolean {
  return !itemsCarryKind && strategy.allowsUnqualifiedFinalizers !== true;
}

/** Fields that the server sets itself, and those that the path determines. */
const systemFields: ReadonlySet<string> = new Set([
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
  "resourceVersion",
  "selfLink",
]);

/** Copied rather than deleted from: V8 makes an object with deleted members slow. */
function withoutSystemFields(sent: JsonObject): Draft {
  const metadata: Draft = {};
  for (const key of Object.keys(sent))
    if (!systemFields.has(key)) metadata[key] = sent[key] as JsonValue;
  return metadata;
}

const preservedFields: ReadonlySet<string> = new Set([
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
  "generateName",
]);

/** Kept where they are set; otherwise setting them is rejected as a change. */
const startsDeletion: ReadonlySet<string> = new Set([
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
]);

let lastSecond = { at: -1, text: "" };

/** Whole seconds in UTC, as in metav1.Time; many writes share a second. */
export function timestamp(nowMs: number): string {
  const at = Math.floor(nowMs / 1000);
  if (at !== lastSecond.at)
    lastSecond = { at, text: `${new Date(at * 1000).toISOString().slice(0, 19)}Z` };
  return lastSecond.text;
}

/** Drops a client's cluster annotation, so that managedFields never have it. */
function removeClusterAnnotation(metadata: Draft): void {
  const { annotations } = metadata;
  if (!isJsonObject(annotations) || !Object.hasOwn(annotations, clusterAnnotation)) return;
  const { [clusterAnnotation]: _, ...others } = annotations;
  if (Object.keys(others).length === 0) delete metadata["annotations"];
  else metadata["annotations"] = others;
}

/** The object with its cluster annotation, as admission sees it and as it will be served. */
export function addClusterAnnotation(object: JsonObject, cluster: string): JsonObject {
  const metadata = object["metadata"] as JsonObject;
  const annotations = isJsonObject(metadata["annotations"]) ? metadata["annotations"] : {};
  const marked = withMember(annotations, clusterAnnotation, cluster);
  return withMember(object, "metadata", withMember(metadata, "annotations", marked));
}

/**
 * Sent managedFields are read, corrected or ignored where managers are recorded, and never
 * rejected.
 */
function withoutManagers(metadata: JsonObject): ObjectMeta {
  if (metadata["managedFields"] === undefined) return metadata as ObjectMeta;
  const { managedFields: _, ...others } = metadata;
  return others as ObjectMeta;
}

/** Kinds with a generation count changes outside metadata and status. */
function bumpGeneration(draft: Draft, old: JsonObject): void {
  const metadata = draft["metadata"] as Draft;
  if (typeof metadata["generation"] !== "number") return;
  const { metadata: _m, status: _s, ...now } = draft;
  const { metadata: _om, status: _os, ...before } = old;
  if (!jsonEqual(now as JsonObject, before as JsonObject)) metadata["generation"]++;
}
