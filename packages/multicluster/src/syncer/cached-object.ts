/**
 * The form in which a syncer caches an object: metadata that it reads all the time, and the rest as
 * text, which needs a third of the memory of the parsed form and is parsed only after a change.
 */
import { hash } from "node:crypto";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import {
  type KubernetesObject,
  type ManagedFieldsEntry,
  type OwnerReference,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import { syncErrorAnnotationPrefix, syncerFieldManager } from "../api/index.ts";
import { fieldPath } from "./field-path.ts";

export interface CachedObject {
  readonly metadata: CachedMetadata;
  /** All fields but apiVersion, kind, metadata and status, as JSON. */
  readonly body: string;
  /** `.status` as JSON. */
  readonly status: string | undefined;
  /** Of the requested paths: those that a field manager other than the syncer owns. */
  readonly foreignPaths: readonly string[];
}

export interface CachedMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | undefined;
  readonly labels: StringMap | undefined;
  readonly annotations: StringMap | undefined;
  readonly finalizers: readonly string[] | undefined;
  readonly deletionTimestamp: string | undefined;
  /** The object's controller owner reference. */
  readonly controller: OwnerReference | undefined;
}

/**
 * The number of objects of a kind that are cached unpacked; further objects are packed, and each
 * read unpacks one in some ten microseconds. The number is small downstream, because there is a
 * store for every kind of every SyncTarget; upstream there is one store for each kind.
 */
export const liveObjectsMax = { downstream: 128, upstream: 1024 } as const;

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
const none: readonly string[] = [];

export function cachedObject(
  object: KubernetesObject,
  contestedPaths: readonly string[] = none,
): CachedObject {
  const {
    apiVersion: _apiVersion,
    kind: _kind,
    metadata,
    status,
    ...body
  } = object as unknown as JsonObject & { readonly metadata: KubernetesObject["metadata"] };
  const { name, namespace = "", uid = "", resourceVersion = "" } = metadata;
  const { generation, labels, finalizers, deletionTimestamp } = metadata;
  const annotations = withoutLastApplied(metadata.annotations);
  return {
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      generation,
      labels,
      annotations,
      finalizers,
      deletionTimestamp,
      controller: metadata.ownerReferences?.find(({ controller }) => controller === true),
    },
    body: stringifyJson(body as JsonObject),
    status: status === undefined ? undefined : stringifyJson(status),
    foreignPaths:
      contestedPaths.length === 0 ? none : foreignPaths(metadata.managedFields, contestedPaths),
  };
}

export function bodyOf({ body }: CachedObject): JsonObject {
  return parseJson(body).value as JsonObject;
}

export function statusOf({ status }: CachedObject): JsonValue | undefined {
  return status === undefined ? undefined : parseJson(status).value;
}

/** Whether two objects are equal in all fields that a copy is computed from. */
export function hasSameContent(one: CachedObject, other: CachedObject): boolean {
  if (one === other) return true;
  const [a, b] = [one.metadata, other.metadata];
  return (
    one.body === other.body &&
    a.uid === b.uid &&
    a.generation === b.generation &&
    a.deletionTimestamp === b.deletionTimestamp &&
    isSameMap(a.labels, b.labels) &&
    isSameMap(a.annotations, b.annotations) &&
    one.foreignPaths.join() === other.foreignPaths.join()
  );
}

/** The object without the annotations in which the syncer reports about it. */
export function withoutReports(object: CachedObject): CachedObject {
  const { annotations = {} } = object.metadata;
  const others = Object.entries(annotations).filter(
    ([name]) => !name.startsWith(syncErrorAnnotationPrefix),
  );
  return { ...object, metadata: { ...object.metadata, annotations: Object.fromEntries(others) } };
}

const digests = new WeakMap<CachedObject, string>();

/** Equal for objects with the same content; 30 bytes instead of the object. */
export function contentDigest(object: CachedObject): string {
  const known = digests.get(object);
  if (known !== undefined) return known;
  const digest = digestOf(object);
  digests.set(object, digest);
  return digest;
}

function digestOf({ metadata, body, foreignPaths }: CachedObject): string {
  const { uid, generation, deletionTimestamp, labels = {}, annotations = {} } = metadata;
  const sorted = (map: StringMap) => Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  const facts = [uid, generation, deletionTimestamp, foreignPaths];
  const marks = JSON.stringify([facts, sorted(labels), sorted(annotations)]);
  return hash("sha256", `${marks}\n${body}`, "base64").slice(0, digestCharacters);
}

/** 132 bits. */
const digestCharacters = 22;

function isSameMap(one: StringMap = {}, other: StringMap = {}): boolean {
  if (one === other) return true;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => stringMember(one, key) === stringMember(other, key))
  );
}

function withoutLastApplied(annotations: StringMap | undefined): StringMap | undefined {
  if (annotations === undefined || !Object.hasOwn(annotations, lastAppliedAnnotation)) {
    return annotations;
  }
  const { [lastAppliedAnnotation]: _, ...rest } = annotations;
  return rest;
}

/**
 * The paths that other managers own and the syncer does not: a manager that writes its own value
 * into an applied field takes the ownership from the applier.
 */
function foreignPaths(
  entries: readonly ManagedFieldsEntry[] | undefined,
  paths: readonly string[],
): readonly string[] {
  return paths.filter((path) => {
    const owners = (entries ?? []).filter(({ fieldsV1 }) => owns(fieldsV1, path));
    return owners.length > 0 && owners.every(({ manager }) => manager !== syncerFieldManager);
  });
}

function owns(fields: JsonValue | undefined, path: string): boolean {
  let at = fields;
  for (const segment of fieldPath(path)) {
    if (at === undefined || !isJsonObject(at)) return false;
    at = member(at, `f:${segment}`);
  }
  return at !== undefined;
}
