/**
 * `pods/ephemeralcontainers` of upsynced Pods: `kubectl debug` adds containers to a Pod that runs
 * in a physical cluster. Only the syncer may write the upstream copy: the containers are sent to
 * the Pod in the cluster, and the copy follows.
 *
 * Admission of the logical cluster runs first, on the Pod as it would be. The containers are sent
 * exactly as admission saw them: each complete, once, and without merge directives of the patch.
 */
import { isDeepStrictEqual } from "node:util";
import type { ApiResponse, ConnectRequest } from "@kcp-ts/apiserver";
import { bounds, isBoundExceeded, parseBounded } from "@kcp-ts/machinery/bounds";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
} from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import {
  ephemeralBytesMax,
  ephemeralOf,
  type PodConnections,
  strategicMergePatch,
} from "@kcp-ts/multicluster";
import type { KubernetesObject } from "@kcp-ts/sdk";

const about = { kind: "Pod", apiVersion: "v1" } as const;

export async function ephemeralContainers(
  call: ConnectRequest,
  connections: PodConnections,
): Promise<ApiResponse> {
  const { verb, object, query, signal } = call;
  const copy = { ...about, ...object };
  if (verb === "get") return jsonAnswer(copy);
  const asked = await readContainers(call);
  const admitted = await call.admitChange(withContainers(copy, merged(containersOf(copy), asked)));
  const before = containersOf(copy);
  const added = containersOf(admitted).filter(
    (one) => !before.some((known) => isDeepStrictEqual(known, one)),
  );
  const pod = object as unknown as KubernetesObject;
  const cluster = call.scope.cluster as ClusterName;
  const isDryRun = query.getAll("dryRun").includes("All");
  const patch = { ephemeralContainers: added };
  const containers = await connections.addContainers({ cluster, pod, signal }, patch, isDryRun);
  return jsonAnswer(withContainers(copy, containers));
}

async function readContainers(call: ConnectRequest): Promise<readonly JsonObject[]> {
  const [type = ""] = String(call.headers["content-type"] ?? "").split(";", 1);
  if (type.trim() !== strategicMergePatch)
    throw statusError.badRequest(
      `ephemeral containers of Pods in clusters are added by ${strategicMergePatch}, as kubectl debug does`,
    );
  const bytes = await call.bytes();
  if (bytes.length > ephemeralBytesMax)
    throw statusError.tooLarge(
      `a patch of ephemeral containers has ${ephemeralBytesMax} bytes at most`,
    );
  const { ephemeralContainers: asked } = ephemeralOf(readJson(bytes));
  return (asked as readonly JsonValue[]).map(wholeContainer);
}

/** A patch may contain merge directives; new containers have nothing to merge. */
function wholeContainer(value: JsonValue): JsonObject {
  if (!isJsonObject(value) || typeof value["name"] !== "string")
    throw statusError.badRequest("an ephemeral container is an object with a name");
  if (hasDirective(value))
    throw statusError.badRequest(
      `ephemeral container ${JSON.stringify(value["name"])}: directives of patches are not accepted in it`,
    );
  return value;
}

function hasDirective(value: JsonValue): boolean {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).some(hasDirective);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, member]) => key.startsWith("$") || hasDirective(member));
}

/** Merged by name; the last container of a name wins. */
function merged(before: readonly JsonObject[], asked: readonly JsonObject[]): JsonObject[] {
  const byName = new Map(before.map((one) => [one["name"], one]));
  for (const one of asked) byName.set(one["name"], { ...byName.get(one["name"]), ...one });
  return [...byName.values()];
}

function containersOf({ spec = {} }: JsonObject): readonly JsonObject[] {
  const { ephemeralContainers: found = [] } = spec as { ephemeralContainers?: JsonObject[] };
  return found;
}

function withContainers(pod: JsonObject, containers: readonly JsonValue[]): JsonObject {
  const { spec = {} } = pod as { spec?: JsonObject };
  return { ...pod, spec: { ...spec, ephemeralContainers: containers } };
}

function readJson(bytes: Uint8Array): JsonValue {
  try {
    return parseBounded(bounds.requestBody, bytes);
  } catch (error) {
    if (isBoundExceeded(error)) throw statusError.tooLarge(error.message);
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw statusError.badRequest("the patch is no JSON");
  }
}

function jsonAnswer(object: JsonObject): ApiResponse {
  const headers = { "content-type": "application/json" };
  return { status: 200, headers, body: Buffer.from(JSON.stringify(object)) };
}
