/**
 * Writes to the fake server: create, replace, merge and apply patches, delete with finalizers;
 * conflicts by resourceVersion.
 */
import { statusError } from "@kcp-ts/machinery/status";
import { clusterAnnotation } from "../client/index.ts";
import { type FakeRequest, storeKey } from "./fake-request.ts";
import type { Change, FakeStore, StoredObject } from "./fake-store.ts";

export interface WriteOutcome {
  readonly status: number;
  readonly body: unknown;
  readonly change?: Change | undefined;
}

export function writeObject(store: FakeStore, request: FakeRequest): WriteOutcome {
  switch (request.method) {
    case "POST":
      return create(store, request, parse(request));
    case "PUT":
      return update(store, request, parse(request));
    case "PATCH":
      return patch(store, request);
    case "DELETE":
      return remove(store, request);
    default:
      throw statusError.methodNotAllowed({ group: "", resource: request.plural }, request.method);
  }
}

function create(store: FakeStore, request: FakeRequest, body: StoredObject): WriteOutcome {
  const name = body.metadata.name ?? `${body.metadata.generateName}${store.revision}`;
  const key = keyOf(request, name);
  if (store.get(key) !== undefined) {
    throw statusError.alreadyExists({ group: "", resource: request.plural }, name);
  }
  const metadata = {
    ...body.metadata,
    name,
    ...(request.namespace === "" ? {} : { namespace: request.namespace }),
    uid: `uid-${store.revision + 1}`,
    annotations: { ...body.metadata.annotations, [clusterAnnotation]: request.cluster },
  };
  const change = store.put(key, { ...body, metadata });
  return { status: 201, body: change.current, change };
}

function update(store: FakeStore, request: FakeRequest, body: StoredObject): WriteOutcome {
  const name = request.name ?? "";
  const current = existing(store, request, name);
  checkVersion(request, body, current);
  const isStatus = request.subresource === "status";
  const next = isStatus ? { ...current, status: body["status"] } : body;
  return replace(store, request, current, next);
}

function patch(store: FakeStore, request: FakeRequest): WriteOutcome {
  const body = parse(request);
  const name = request.name ?? "";
  const isApply = request.contentType.startsWith("application/apply-patch");
  const current = store.get(keyOf(request, name));
  if (current === undefined && isApply) return create(store, request, body);
  const before = existing(store, request, name);
  checkVersion(request, body, before);
  return replace(store, request, before, merge(before, body) as StoredObject);
}

/**
 * An update that removes the last finalizer of a terminating object removes the object; an update
 * without a change writes nothing.
 */
function replace(
  store: FakeStore,
  request: FakeRequest,
  current: StoredObject,
  next: StoredObject,
): WriteOutcome {
  const key = keyOf(request, current.metadata.name);
  const { uid, deletionTimestamp, resourceVersion } = current.metadata;
  const metadata = {
    ...next.metadata,
    ...(uid === undefined ? {} : { uid }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    annotations: { ...next.metadata.annotations, [clusterAnnotation]: request.cluster },
  };
  const object = { ...next, metadata };
  if (deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0) {
    return { status: 200, body: object, change: store.remove(key) };
  }
  if (JSON.stringify(object) === JSON.stringify(current)) return { status: 200, body: current };
  const change = store.put(key, object);
  return { status: 200, body: change.current, change };
}

function remove(store: FakeStore, request: FakeRequest): WriteOutcome {
  const name = request.name ?? "";
  const current = existing(store, request, name);
  const key = keyOf(request, name);
  if ((current.metadata.finalizers ?? []).length > 0) {
    if (current.metadata.deletionTimestamp !== undefined) return { status: 200, body: current };
    const metadata = { ...current.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    const change = store.put(key, { ...current, metadata });
    return { status: 200, body: change.current, change };
  }
  const body = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" };
  return { status: 200, body, change: store.remove(key) };
}

/** A resourceVersion in the body, of an update or of a patch, is a precondition. */
function checkVersion(
  request: FakeRequest,
  body: Partial<StoredObject>,
  current: StoredObject,
): void {
  const asked = body.metadata?.resourceVersion;
  if (asked === undefined || asked === current.metadata.resourceVersion) return;
  throw statusError.modified({ group: "", resource: request.plural }, current.metadata.name);
}

function existing(store: FakeStore, request: FakeRequest, name: string): StoredObject {
  const object = store.get(keyOf(request, name));
  if (object === undefined) {
    throw statusError.notFound({ group: "", resource: request.plural }, name);
  }
  return object;
}

function keyOf({ resource, cluster, namespace }: FakeRequest, name: string): string {
  return storeKey(resource, cluster, namespace, name);
}

function parse({ body }: FakeRequest): StoredObject {
  return JSON.parse(body) as StoredObject;
}

/** Merges by RFC 7386. The tests send no hostile keys. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
