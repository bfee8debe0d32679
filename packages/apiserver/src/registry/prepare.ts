/**
 * What every write does to an object before it may be stored: system fields, the resource's own rules, validation.
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
import { apiVersionOf, collectionKeyOf, type ResourceDefinition } from "./definition.ts";
import type { ObjectAddress } from "./registry.ts";
import type { Draft, SubresourceStrategy, ValidationResult, WriteContext } from "./strategy.ts";

export interface PrepareContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly newUid: () => string;
  readonly user: UserInfo | undefined;
}

export interface PreparedObject {
  readonly object: JsonObject;
  /** Before the kind's own rules changed it: what the sender comes to own. */
  readonly sent: JsonObject;
  /** Validation that is not over yet: nothing may be stored before it is. */
  readonly pending?: Promise<void> | undefined;
}

export function prepareCreate(
  definition: ResourceDefinition,
  address: ObjectAddress,
  draft: Draft,
  context: PrepareContext,
): PreparedObject {
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
  removeClusterAnnotation(metadata);

  draft["kind"] = definition.kind;
  draft["apiVersion"] = apiVersionOf(definition);
  draft["metadata"] = metadata;
  const before: Draft | undefined = strategy.isOwnedAsSent === true ? { ...draft } : undefined;
  strategy.prepareForCreate(draft, { nowMs: context.clock.now(), user: context.user });
  strategy.canonicalize?.(draft);
  const errors = validateObjectMeta(withoutManagers(metadata), {
    isNamespaced: definition.isNamespaced,
    nameErrors: strategy.nameErrors,
    requireQualifiedFinalizers: needsQualifiedFinalizers(definition),
  });
  const pending = throwIfInvalid(definition, metadata["name"], errors, strategy.validate(draft));
  return { object: draft, sent: before ?? draft, pending };
}

/** Throws if anything is wrong, or gives a promise of that when finding out takes long. */
function throwIfInvalid(
  definition: ResourceDefinition,
  name: JsonValue | undefined,
  errors: readonly FieldError[],
  verdict: ValidationResult,
): Promise<void> | undefined {
  const refuse = (found: readonly FieldError[]): void => {
    if (errors.length === 0 && found.length === 0) return;
    throw statusError.invalid(kindOf(definition), String(name ?? ""), [...errors, ...found]);
  };
  if (Array.isArray(verdict)) {
    refuse(verdict);
    return undefined;
  }
  const first = verdict.next();
  if (first.done === true) {
    refuse(first.value);
    return undefined;
  }
  return runYielding(verdict).then(refuse);
}

/** What an object that admission changed would have been without: its sender owns nothing of the changes. */
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
  else if (strategy.isOwnedAsSent !== true) strategy.prepareForCreate(draft, context);
  if (update !== undefined || strategy.isOwnedAsSent !== true) strategy.canonicalize?.(draft);
  return { object, sent: draft };
}

const changeableMetadata = ["annotations", "finalizers", "labels", "ownerReferences"];

/** A kind that is stored as one of another group is named as that. */
function kindOf(definition: ResourceDefinition): { group: string; kind: string } {
  return { group: collectionKeyOf(definition).group, kind: definition.kind };
}

export interface UpdateRules {
  readonly subresource?: SubresourceStrategy | undefined;
  /** The draft was made from the present object, so that it needs no version to fit it. */
  readonly isDerived?: boolean;
}

export function prepareUpdate(
  definition: ResourceDefinition,
  draft: Draft,
  old: JsonObject,
  { subresource, isDerived = false }: UpdateRules,
  context: WriteContext,
): PreparedObject {
  const rules = subresource ?? definition.strategy;
  const oldMetadata = old["metadata"] as JsonObject;
  const name = String(oldMetadata["name"]);
  const sent = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
  const needsVersion = !definition.strategy.allowsUnconditionalUpdate && !isDerived;
  if (needsVersion && !sent["resourceVersion"]) {
    // Named by its resource where other refusals name the kind: so does Kubernetes.
    const { group, resource } = definition;
    throw statusError.invalid({ group, kind: resource }, name, [
      fieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update"),
    ]);
  }
  const metadata: Draft = {};
  for (const key of Object.keys(sent))
    if (!preservedFields.has(key)) metadata[key] = sent[key] as JsonValue;
  // Left out, the namespace is the one of the path; on a kind that has none it is ignored.
  if (!definition.isNamespaced) delete metadata["namespace"];
  else if (!metadata["namespace"]) metadata["namespace"] = oldMetadata["namespace"] as string;
  // Whatever the client says: these are the server's.
  for (const field of preservedFields) {
    const value = oldMetadata[field] ?? (startsDeletion.has(field) ? sent[field] : undefined);
    if (value !== undefined) metadata[field] = value;
  }
  // A patch that changes the uid is not about another object, as an update is: it is wrong.
  if (isDerived && sent["uid"]) metadata["uid"] = sent["uid"];
  removeClusterAnnotation(metadata);
  draft["kind"] = definition.kind;
  draft["apiVersion"] = apiVersionOf(definition);
  draft["metadata"] = metadata;
  rules.prepareForUpdate(draft, old, context);
  // A rule that takes the old metadata takes our mark with it.
  if (draft["metadata"] !== metadata) removeClusterAnnotation(draft["metadata"] as Draft);
  definition.strategy.canonicalize?.(draft);
  const errors = validateObjectMetaUpdate(withoutManagers(metadata), withoutManagers(oldMetadata), {
    requireQualifiedFinalizers: needsQualifiedFinalizers(definition),
  });
  const pending = throwIfInvalid(definition, name, errors, rules.validateUpdate(draft, old));
  bumpGeneration(draft, old);
  return { object: draft, sent: draft, pending };
}

function needsQualifiedFinalizers({ itemsCarryKind, strategy }: ResourceDefinition): boolean {
  return !itemsCarryKind && strategy.allowsPlainFinalizers !== true;
}

/** What the server sets itself, and what the path decides. */
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

/** Copied rather than deleted from: an object that something was deleted from is slow from then on. */
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

/** Kept where they are; where they are not, setting them is refused as a change. */
const startsDeletion: ReadonlySet<string> = new Set([
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
]);

let lastSecond = { at: -1, text: "" };

/** Whole seconds in UTC, as metav1.Time has them; many writes share a second. */
export function timestamp(nowMs: number): string {
  const at = Math.floor(nowMs / 1000);
  if (at !== lastSecond.at)
    lastSecond = { at, text: `${new Date(at * 1000).toISOString().slice(0, 19)}Z` };
  return lastSecond.text;
}

/** What a client says of the cluster does not count, and nobody owns what we say of it. */
function removeClusterAnnotation(metadata: Draft): void {
  const { annotations } = metadata;
  if (!isJsonObject(annotations) || !Object.hasOwn(annotations, clusterAnnotation)) return;
  const { [clusterAnnotation]: _, ...others } = annotations;
  if (Object.keys(others).length === 0) delete metadata["annotations"];
  else metadata["annotations"] = others;
}

/** The object with the name of its logical cluster on it, as those see it who judge it and as it will be served. */
export function addClusterAnnotation(object: JsonObject, cluster: string): JsonObject {
  const metadata = object["metadata"] as JsonObject;
  const annotations = isJsonObject(metadata["annotations"]) ? metadata["annotations"] : {};
  const marked = withMember(annotations, clusterAnnotation, cluster);
  return withMember(object, "metadata", withMember(metadata, "annotations", marked));
}

/** What a client sends as managedFields is read, corrected or ignored where owners are recorded, and never refused. */
function withoutManagers(metadata: JsonObject): ObjectMeta {
  if (metadata["managedFields"] === undefined) return metadata as ObjectMeta;
  const { managedFields: _, ...others } = metadata;
  return others as ObjectMeta;
}

/** Kinds that track a generation count changes outside metadata and status. */
function bumpGeneration(draft: Draft, old: JsonObject): void {
  const metadata = draft["metadata"] as Draft;
  if (typeof metadata["generation"] !== "number") return;
  const { metadata: _m, status: _s, ...now } = draft;
  const { metadata: _om, status: _os, ...before } = old;
  if (!jsonEqual(now as JsonObject, before as JsonObject)) metadata["generation"]++;
}
