/**
 * Preconditions that a program must send with every write of an existing object: the uid of the
 * object; for updates, and for patches of owners and finalizers, also the resourceVersion that it
 * read. An apply of an object may create it, and needs none.
 *
 * For controllers that work in all clusters. They know an object only from a watch; if the event
 * lacks a uid or a version, the controller must not act on it. A server treats an empty
 * precondition as none. `ObservedObject` sends them.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { StatusError } from "@kcp-ts/machinery/status";
import type { ClientRequest } from "./client.ts";
import { applyContentType } from "./options.ts";

/** Throws a StatusError with the reason BadRequest; the request is not sent to the server. */
export function requirePreconditions(request: ClientRequest): void {
  const missing = missingFrom(request);
  if (missing === undefined) return;
  const what = `${request.method} ${request.path}`;
  const message = `refusing to send ${what} without a precondition: ${missing} is empty`;
  throw new StatusError({ code: 400, reason: "BadRequest", message });
}

function missingFrom({ method, path, body, contentType }: ClientRequest): string | undefined {
  const content = isJsonObject(body) ? body : {};
  switch (method) {
    case "DELETE":
      return missingFromDelete(content, isNamed(path));
    case "PUT":
      return missingFromMetadata(content, both);
    case "PATCH":
      if (contentType !== applyContentType) return missingFromPatch(body);
      // An apply of an object may create it, an apply of its status may not.
      return missingFromMetadata(content, /\/status(\?|$)/.test(path) ? uidOnly : none);
    default:
      return undefined;
  }
}

/**
 * A uid is enough where any state of the object is accepted; a given resourceVersion is a
 * precondition, too.
 */
function missingFromDelete(options: JsonObject, isRequired: boolean): string | undefined {
  const preconditions = isJsonObject(options["preconditions"]) ? options["preconditions"] : {};
  const { uid, resourceVersion } = preconditions;
  if (uid === undefined ? isRequired : !isText(uid)) return "preconditions.uid";
  return resourceVersion === undefined || isText(resourceVersion)
    ? undefined
    : "preconditions.resourceVersion";
}

const guardedMetadata = ["finalizers", "ownerReferences"];

function missingFromPatch(patch: JsonValue | undefined): string | undefined {
  if (Array.isArray(patch)) return missingFromOperations(patch as readonly JsonValue[]);
  if (!isJsonObject(patch)) return "metadata.uid";
  const metadata = isJsonObject(patch["metadata"]) ? patch["metadata"] : {};
  const isGuarded = guardedMetadata.some((member) => Object.hasOwn(metadata, member));
  return missingFromMetadata(patch, isGuarded ? both : uidOnly);
}

/** In a JSON patch, `test` operations are the preconditions. */
function missingFromOperations(operations: readonly JsonValue[]): string | undefined {
  const tested: { [member: string]: JsonValue } = {};
  let isGuarded = false;
  for (const operation of operations) {
    const { op, path, value = "" } = isJsonObject(operation) ? operation : {};
    const [, root, member] = String(path).split("/");
    if (op !== "test") {
      const isAll = root === undefined || (root === "metadata" && member === undefined);
      isGuarded ||= isAll || (root === "metadata" && guardedMetadata.includes(member as string));
    } else if (root === "metadata" && (member === "uid" || member === "resourceVersion"))
      tested[member] = value;
  }
  return missingFromMetadata({ metadata: tested }, isGuarded ? both : uidOnly);
}

const both: readonly string[] = ["uid", "resourceVersion"];
const uidOnly: readonly string[] = ["uid"];
const none: readonly string[] = [];

function missingFromMetadata(object: JsonObject, needed: readonly string[]): string | undefined {
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  for (const member of both) {
    const value = metadata[member];
    const isMissing = value === undefined ? needed.includes(member) : !isText(value);
    if (isMissing) return `metadata.${member}`;
  }
  return undefined;
}

function isText(value: JsonValue | undefined): boolean {
  return typeof value === "string" && value !== "";
}

/**
 * Matches `/api/v1/namespaces/default/pods/x` and `/api/v1/namespaces/default`, not
 * `/api/v1/namespaces/default/pods`.
 */
function isNamed(path: string): boolean {
  const [, root, ...parts] = (path.split("?")[0] ?? "").split("/");
  const inVersion = parts.slice(root === "apis" ? 2 : 1);
  const isInNamespace = inVersion[0] === "namespaces" && inVersion.length > 2;
  return inVersion.length - (isInNamespace ? 2 : 0) > 1;
}
