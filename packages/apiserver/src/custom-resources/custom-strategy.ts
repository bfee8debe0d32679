/** The strategy of a custom kind, by its schema. */
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  setMember,
} from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type CompiledSchema, openApiName, publishText } from "@kcp-ts/machinery/schema";
import { kindShapes, type MessageShape, objectMeta, ShapeError } from "@kcp-ts/machinery/shape";
import { formatFieldError } from "@kcp-ts/machinery/status";
import type { TableColumn } from "@kcp-ts/machinery/table";
import {
  apiVersionOf,
  type Draft,
  type Strategy,
  type SubresourceStrategy,
  setPodDefaults,
  workloadPrinter,
} from "../registry/index.ts";
import { scaleView } from "./scale.ts";
import type { SharedVersion } from "./shared-version.ts";

const nameColumn: TableColumn = {
  name: "Name",
  type: "string",
  format: "name",
  description: "The name, unique among the objects of its kind and namespace.",
  priority: 0,
};

export function customStrategy(version: SharedVersion): Strategy {
  const hasStatus = version.traits.subresources?.status === true;
  // A definition of a well-known kind without columns gets the columns of kubectl.
  const printer =
    version.traits.printerColumns.length === 0
      ? workloadPrinter(version.group, version.kind)
      : undefined;
  const ownsPods = isJob(version);
  const hasPodDefaults = isPod(version);
  return {
    shape: shapeOf(version),
    get applyType() {
      return version.compiled().applyType;
    },
    decode(value) {
      const { schema } = version.compiled();
      const { value: shaped, unknownFields, error } = schema.admit(value);
      if (error !== undefined) throw new ShapeError(formatFieldError(error));
      const object = shaped as JsonObject;
      const isComplete = !hasPodDefaults || !isJsonObject(object["spec"]);
      return { value: isComplete ? object : withPodDefaults(object, schema), unknownFields };
    },
    ...(isBuiltInGroup(version.group) ? { protobufShape: () => protobufShape(version) } : {}),
    get patchRules() {
      return isBuiltInGroup(version.group) ? version.compiled().patchRules : "none";
    },
    nameErrors: dnsSubdomainErrors,
    allowsUnconditionalUpdate: false,
    allowsCreateOnUpdate: false,
    returnsDeletedObject: false,
    prepareForCreate(draft) {
      if (hasStatus) delete draft["status"];
      (draft["metadata"] as Draft)["generation"] = 1;
      if (ownsPods) addPodSelector(draft);
    },
    validate: (object) => version.compiled().schema.validateResumable(object),
    prepareForUpdate(draft, old) {
      if (hasStatus) keepStatus(draft, old);
      else countStatus(draft, old);
      if (ownsPods) addPodSelector(draft);
    },
    validateUpdate: (updated, old) => version.compiled().schema.validateResumable(updated, { old }),
    get selectableFields() {
      return version.compiled().selectableFields;
    },
    get columns() {
      return [nameColumn, ...(printer?.columns ?? version.compiled().columns.definitions)];
    },
    cells: (object, nowMs, budget) => {
      const { name } = object["metadata"] as JsonObject;
      const { cells } = printer ?? version.compiled().columns;
      return [String(name), ...cells(object, nowMs, budget)];
    },
  };
}

export function customSubresources(
  version: SharedVersion,
): ReadonlyMap<string, SubresourceStrategy> {
  const subresources = new Map<string, SubresourceStrategy>();
  const { status, scale } = version.traits.subresources ?? {};
  if (status === true) subresources.set("status", statusEndpoint(version));
  if (scale !== undefined) {
    const { strategy } = version;
    subresources.set("scale", {
      verbs: ["get", "patch", "update"],
      view: scaleView(scale),
      prepareForUpdate: (draft, old, context) => strategy.prepareForUpdate(draft, old, context),
      validateUpdate: (updated, old) => strategy.validateUpdate(updated, old),
    });
  }
  return subresources;
}

/** Kinds of built-in groups accept the patches that clients send to built-in kinds. */
export function isBuiltInGroup(group: string): boolean {
  return !group.includes(".") || wellKnownGroups.has(group);
}

/** Go clients with a compiled-in kind send protobuf. */
function protobufShape(version: SharedVersion): MessageShape | undefined {
  return kindShapes.get(`${apiVersionOf(version)}/${version.kind}`);
}

/** Groups with a dot whose kinds are compiled into clients. */
const wellKnownGroups: ReadonlySet<string> = new Set([
  "certificates.k8s.io",
  "coordination.k8s.io",
  "discovery.k8s.io",
  "events.k8s.io",
  "networking.k8s.io",
  "node.k8s.io",
  "rbac.authorization.k8s.io",
  "scheduling.k8s.io",
  "storage.k8s.io",
]);

/** The status subresource changes the status only. */
function statusEndpoint(version: SharedVersion): SubresourceStrategy {
  return {
    verbs: ["get", "patch", "update"],
    prepareForUpdate(draft, old) {
      const { status } = draft;
      const { managedFields } = draft["metadata"] as JsonObject;
      const { managedFields: _, ...metadata } = old["metadata"] as JsonObject;
      for (const key of Object.keys(draft)) delete draft[key];
      for (const key of Object.keys(old)) setMember(draft, key, old[key] as JsonValue);
      draft["metadata"] = managedFields === undefined ? metadata : { ...metadata, managedFields };
      if (status === undefined) delete draft["status"];
      else draft["status"] = status;
    },
    validateUpdate: (updated, old) =>
      version.compiled().schema.validateStatusResumable(updated, old),
  };
}

/**
 * Applies the defaults of Pods, which no schema can express. Those that the schema does not know
 * are pruned again.
 */
function withPodDefaults(object: JsonObject, schema: CompiledSchema): JsonObject {
  const spec: Draft = { ...(object["spec"] as JsonObject) };
  setPodDefaults(spec);
  return schema.restore({ ...object, spec }).value as JsonObject;
}

function isPod({ group, version, kind }: SharedVersion): boolean {
  return group === "" && version === "v1" && kind === "Pod";
}

function isJob({ group, version, kind }: SharedVersion): boolean {
  return group === "batch" && version === "v1" && kind === "Job";
}

/**
 * Adds the selector by which clients find the Pods of a Job; kube-apiserver adds one to Jobs
 * without it.
 */
function addPodSelector(draft: Draft): void {
  const { spec } = draft;
  if (spec === undefined || !isJsonObject(spec)) return;
  if (spec["manualSelector"] === true || spec["selector"] !== undefined) return;
  const { uid } = draft["metadata"] as { uid?: string };
  if (uid === undefined) return;
  const matchLabels = { "batch.kubernetes.io/controller-uid": uid };
  draft["spec"] = { ...spec, selector: { matchLabels } };
}

function keepStatus(draft: Draft, old: JsonObject): void {
  if (old["status"] === undefined) delete draft["status"];
  else draft["status"] = old["status"];
}

/**
 * Without a status subresource, the status is part of the desired state, and its changes increment
 * the generation.
 */
function countStatus(draft: Draft, old: JsonObject): void {
  const metadata = draft["metadata"] as Draft;
  if (typeof metadata["generation"] !== "number") return;
  if (jsonEqual(draft["status"] ?? null, old["status"] ?? null)) return;
  const { metadata: _m, status: _s, ...now } = draft;
  const { metadata: _om, status: _os, ...before } = old;
  // Changes of other fields are counted for all kinds alike.
  if (jsonEqual(now as JsonObject, before as JsonObject)) metadata["generation"]++;
}

/** Built anew for every document: documents are rarely read, and cached by their builder. */
export function* customSchema(version: SharedVersion, dialect: "v2" | "v3"): Resumable<string> {
  // With its descriptions, which the compiled form does not have.
  const schema = yield* version.schemaResumable();
  yield;
  return yield* publishText(schema, publishedKind(version), dialect);
}

function publishedKind({ group, version, kind, listKind, resource, traits }: SharedVersion) {
  const { selectableFields } = traits;
  return { group, version, kind, listKind, plural: resource, selectableFields };
}

/** The minimal shape of a custom kind for generic code: its name in documents, and its metadata. */
function shapeOf(version: SharedVersion): MessageShape {
  const metadata = {
    name: "metadata",
    number: 1,
    shape: objectMeta,
    description: "Standard object metadata.",
  };
  return {
    kind: "message",
    name: openApiName(version.group, version.version, version.kind),
    description: "",
    fields: new Map([["metadata", metadata]]),
    byNumber: new Map([[1, metadata]]),
    required: [],
    keepsEmpty: new Set(),
    isAtomic: false,
  };
}
