/**
 * CustomResourceDefinitions as a resource: their own strategy. The rest of this folder serves the
 * kinds that they define.
 */
import { mapType, objectType, recursive, structType, untypedType } from "@kcp-ts/machinery/apply";
import { type Resumable, runSync, runYielding } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import {
  type CustomResourceDefinition,
  defaultCustomResourceDefinition,
  readCustomResourceDefinition,
  readSchema,
  unrecognizedFormats,
  validateCustomResourceDefinitionResumable,
  validateStoredVersions,
} from "@kcp-ts/machinery/schema";
import { customResourceDefinition } from "@kcp-ts/machinery/shape";
import { type FieldError, quote } from "@kcp-ts/machinery/status";
import type { Draft, ResourceDefinition, SubresourceStrategy } from "../registry/index.ts";
import { conditionsOf, deletionPending, withCondition } from "./conditions.ts";
import { decodeDefinition, decodeDefinitionResumable } from "./decode-definition.ts";
import { ruleEngine } from "./rule-engine.ts";
import { ruleLimitErrors } from "./rule-limits.ts";

/** Keeps a definition until its last instance is deleted. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/** Definitions may replace built-in kinds: groups without a dot, and the core group. */
const validation = { allowBuiltInGroups: true, evaluator: ruleEngine } as const;

const statusEndpoint: SubresourceStrategy = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate(draft, old) {
    draft["spec"] = old["spec"] as JsonObject;
    const { managedFields } = draft["metadata"] as JsonObject;
    const { managedFields: _, ...metadata } = old["metadata"] as JsonObject;
    draft["metadata"] = managedFields === undefined ? metadata : { ...metadata, managedFields };
  },
  validateUpdate(updated) {
    const { spec, status } = read(updated);
    return validateStoredVersions(status.storedVersions, spec.versions);
  },
};

export const customResourceDefinitions: ResourceDefinition = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
  singular: "customresourcedefinition",
  kind: "CustomResourceDefinition",
  listKind: "CustomResourceDefinitionList",
  isNamespaced: false,
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
  identity: "",
  itemsCarryKind: false,
  waitsForOwnWrite: true,
  subresources: new Map([["status", statusEndpoint]]),
  strategy: {
    shape: customResourceDefinition,
    decode: decodeDefinition,
    decodeResumable: decodeDefinitionResumable,
    applyType: applyType(),
    nameErrors: dnsSubdomainErrors,
    allowsUnqualifiedFinalizers: true,
    allowsUnconditionalUpdate: false,
    allowsCreateOnUpdate: false,
    returnsDeletedObject: false,
    prepareForCreate,
    prevalidate,
    validate: (object) => results.get(object["spec"] as object) ?? validated(object, undefined),
    prepareForUpdate,
    validateUpdate,
    warnings: formatWarnings,
    prepareForDelete(draft) {
      const metadata = draft["metadata"] as Draft;
      const finalizers = (metadata["finalizers"] ?? []) as readonly string[];
      if (!finalizers.includes(cleanupFinalizer))
        metadata["finalizers"] = [...finalizers, cleanupFinalizer];
      const now = String(metadata["deletionTimestamp"]);
      const status = isJsonObject(draft["status"]) ? draft["status"] : {};
      const conditions = withCondition(conditionsOf(draft), deletionPending, now);
      draft["status"] = { ...status, conditions };
    },
    // Deletion always takes two steps: instances first, even when there are none.
    isRemovalBlocked: (object) =>
      (object["metadata"] as JsonObject)["deletionTimestamp"] === undefined,
    selectableFields: new Map(),
    columns: [
      {
        name: "Name",
        type: "string",
        format: "name",
        description: "The name: plural and group.",
        priority: 0,
      },
      {
        name: "Created At",
        type: "date",
        format: "",
        description: "When the definition was created.",
        priority: 0,
      },
    ],
    cells: (object) => {
      const { name, creationTimestamp } = object["metadata"] as JsonObject;
      return [name as string, creationTimestamp as string];
    },
  },
};

function read(object: JsonObject): CustomResourceDefinition {
  return readCustomResourceDefinition(object).definition;
}

function prepareForCreate(draft: Draft): void {
  delete draft["status"];
  (draft["metadata"] as Draft)["generation"] = 1;
  const { spec, status } = defaultCustomResourceDefinition(draft);
  replaceSpec(draft, spec as JsonObject);
  const storedVersions = isJsonObject(status) ? (status["storedVersions"] as JsonValue) : [];
  draft["status"] = { conditions: [], acceptedNames: { plural: "", kind: "" }, storedVersions };
}

/**
 * The status is kept, except the storage version, which is recorded before an object can be stored
 * in it.
 */
function prepareForUpdate(draft: Draft, old: JsonObject): void {
  draft["status"] = old["status"] as JsonObject;
  const { spec } = defaultCustomResourceDefinition(draft);
  replaceSpec(draft, spec as JsonObject);
  const storage = read(draft).spec.versions.find((version) => version.storage)?.name;
  const status = draft["status"] as JsonObject;
  const stored = (status["storedVersions"] ?? []) as readonly string[];
  if (storage !== undefined && !stored.includes(storage))
    draft["status"] = { ...status, storedVersions: [...stored, storage] };
}

function validateUpdate(updated: JsonObject, old: JsonObject): FieldError[] {
  // The finalizer of a deleted definition can be removed, even if the spec violates current rules.
  if (isDeleted(old) && jsonEqual(updated["spec"] ?? null, old["spec"] ?? null)) return [];
  return results.get(updated["spec"] as object) ?? validated(updated, old);
}

/** The results of prevalidated specs. */
const results = new WeakMap<object, FieldError[]>();

/**
 * The number of values from which on a definition is validated with yields to the event loop; a
 * validation rule counts as many.
 */
const largeValues = 1_000;
const valuesOfRule = 100;

/** Prepares a copy as the write will, validates it, and caches the result for the write. */
function prevalidate(draft: Draft, old: JsonObject | undefined): Promise<void> | undefined {
  if (!isLarge(draft["spec"])) return undefined;
  const copy: Draft = { ...draft, metadata: { ...(draft["metadata"] as JsonObject) } };
  if (old === undefined) prepareForCreate(copy);
  else prepareForUpdate(copy, old);
  return runYielding(validateResumable(copy, old)).then((errors) => {
    results.set(draft["spec"] as object, errors);
  });
}

/** Whether the value contains many values; visits no more than needed. */
function isLarge(value: JsonValue | undefined): boolean {
  const pending: (JsonValue | undefined)[] = [value];
  for (let seen = 0; pending.length > 0; seen++) {
    const next = pending.pop();
    if (typeof next !== "object" || next === null) continue;
    if (Object.hasOwn(next, "rule")) seen += valuesOfRule;
    const members = Object.values(next);
    if (seen + pending.length + members.length > largeValues) return true;
    for (const member of members) pending.push(member);
  }
  return false;
}

function validated(object: JsonObject, old: JsonObject | undefined): FieldError[] {
  return runSync(validateResumable(object, old));
}

/** Compiles rules only when there are not too many of them. */
function* validateResumable(
  object: JsonObject,
  old: JsonObject | undefined,
): Resumable<FieldError[]> {
  const definition = read(object);
  const before = old === undefined ? undefined : read(old);
  const tooMany = ruleLimitErrors(definition, before);
  if (tooMany.length > 0) return tooMany;
  yield;
  return yield* validateCustomResourceDefinitionResumable(definition, before, validation);
}

/** The result of the prevalidation also applies to the prepared spec. */
function replaceSpec(draft: Draft, spec: JsonObject): void {
  const result = results.get(draft["spec"] as object);
  if (result !== undefined) results.set(spec, result);
  draft["spec"] = spec;
}

function isDeleted(object: JsonObject): boolean {
  return (object["metadata"] as JsonObject)["deletionTimestamp"] !== undefined;
}

function formatWarnings(object: JsonObject): string[] {
  const warnings: string[] = [];
  for (const { schema } of read(object).spec.versions) {
    const props =
      schema === undefined || !hasFormat(schema) ? undefined : readSchema(schema).schema;
    if (props === undefined) continue;
    for (const format of unrecognizedFormats(props))
      warnings.push(`unrecognized format ${quote(format)}`);
  }
  return warnings;
}

/** Most schemas use no format, and parsing a schema again takes long. */
function hasFormat(schema: JsonValue): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  if (Array.isArray(schema)) return schema.some(hasFormat);
  const members = schema as JsonObject;
  return Object.hasOwn(members, "format") || Object.values(members).some(hasFormat);
}

/** Apply merges a schema keyword by keyword, at any depth. */
function applyType() {
  const schema = recursive((self) => ({
    scalar: "untyped",
    list: { relationship: "atomic", keys: [], item: untypedType },
    map: { relationship: "granular", fields: new Map(), additional: self },
  }));
  return objectType({
    spec: mapType(schema),
    status: structType({
      acceptedNames: mapType(untypedType),
      storedVersions: { list: { relationship: "atomic", keys: [], item: untypedType } },
      observedGeneration: untypedType,
      conditions: { list: { relationship: "keyed", keys: ["type"], item: mapType(untypedType) } },
    }),
  });
}
