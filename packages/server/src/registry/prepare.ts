/**
 * What every write does to an object before it may be stored: system fields, the resource's own rules, validation.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import {
  type ObjectMeta,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "@kcp-ts/machinery/meta";
import { generateName } from "@kcp-ts/machinery/names";
import { fieldError, StatusError, statusError } from "@kcp-ts/machinery/status";
import type { UserInfo } from "../request/user.ts";
import { apiVersionOf, type ResourceDefinition } from "./definition.ts";
import type { ObjectAddress } from "./registry.ts";
import type { Draft, SubresourceStrategy, WriteContext } from "./strategy.ts";

/** Names the logical cluster on every object, so that a client of all clusters can tell them apart. Set by us alone. */
export const clusterAnnotation = "kcp.io/cluster";

export interface PrepareContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly newUid: () => string;
  readonly user: UserInfo | undefined;
}

export function prepareCreate(
  definition: ResourceDefinition,
  address: ObjectAddress,
  draft: Draft,
  context: PrepareContext,
): JsonObject {
  const sent = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
  if (typeof sent["resourceVersion"] === "string" && sent["resourceVersion"] !== "") {
    throw new StatusError({
      code: 500,
      reason: "InternalError",
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
  unmarkCluster(metadata);

  draft["kind"] = definition.kind;
  draft["apiVersion"] = apiVersionOf(definition);
  draft["metadata"] = metadata;
  strategy.prepareForCreate(draft, { nowMs: context.clock.now(), user: context.user });
  strategy.canonicalize?.(draft);
  const errors = [
    ...validateObjectMeta(withoutManagers(metadata), {
      isNamespaced: definition.isNamespaced,
      nameErrors: strategy.nameErrors,
      requireQualifiedFinalizers: needsQualifiedFinalizers(definition),
    }),
    ...strategy.validate(draft),
  ];
  if (errors.length > 0)
    throw statusError.invalid(definition, String(metadata["name"] ?? ""), errors);
  return draft;
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
): JsonObject {
  const rules = subresource ?? definition.strategy;
  const oldMetadata = old["metadata"] as JsonObject;
  const name = String(oldMetadata["name"]);
  const sent = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
  const needsVersion = !definition.strategy.allowsUnconditionalUpdate && !isDerived;
  if (needsVersion && !sent["resourceVersion"]) {
    throw statusError.invalid(definition, name, [
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
    const value = oldMetadata[field];
    if (value !== undefined) metadata[field] = value;
  }
  unmarkCluster(metadata);
  draft["kind"] = definition.kind;
  draft["apiVersion"] = apiVersionOf(definition);
  draft["metadata"] = metadata;
  rules.prepareForUpdate(draft, old, context);
  definition.strategy.canonicalize?.(draft);
  const errors = [
    ...validateObjectMetaUpdate(withoutManagers(metadata), withoutManagers(oldMetadata), {
      requireQualifiedFinalizers: needsQualifiedFinalizers(definition),
    }),
    ...rules.validateUpdate(draft, old),
  ];
  if (errors.length > 0) throw statusError.invalid(definition, name, errors);
  bumpGeneration(draft, old);
  return draft;
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

let lastSecond = { at: -1, text: "" };

/** Whole seconds in UTC, as metav1.Time has them; many writes share a second. */
export function timestamp(nowMs: number): string {
  const at = Math.floor(nowMs / 1000);
  if (at !== lastSecond.at)
    lastSecond = { at, text: `${new Date(at * 1000).toISOString().slice(0, 19)}Z` };
  return lastSecond.text;
}

/** What a client says of the cluster does not count, and nobody owns what we say of it. */
function unmarkCluster(metadata: Draft): void {
  const { annotations } = metadata;
  if (!isJsonObject(annotations) || !Object.hasOwn(annotations, clusterAnnotation)) return;
  const { [clusterAnnotation]: _, ...others } = annotations;
  if (Object.keys(others).length === 0) delete metadata["annotations"];
  else metadata["annotations"] = others;
}

/** The object with the name of its logical cluster on it: the last touch before it is stored. */
export function markCluster(object: JsonObject, cluster: string): JsonObject {
  const metadata = object["metadata"] as JsonObject;
  const annotations = isJsonObject(metadata["annotations"]) ? metadata["annotations"] : {};
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...annotations, [clusterAnnotation]: cluster } },
  };
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
