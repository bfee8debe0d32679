/**
 * Preconditions that a program must send with a deletion of an object and with writes of its owners
 * or finalizers: the uid of the object, and the resourceVersion that it read.
 *
 * For controllers that work in all clusters. They know an object only from a watch; if the event
 * lacks a uid or a version, the controller must not act on it. A server treats an empty
 * precondition as none.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { StatusError } from "@kcp-ts/machinery/status";
import type { ClientRequest } from "./client.ts";
import { applyContentType } from "./options.ts";

/**
 * `required`: deletions have a uid, updates a uid and a resourceVersion. `never-empty`: a given
 * precondition is not empty. With both, patches of owners and finalizers have a uid and a
 * resourceVersion.
 */
export type PreconditionRule = "required" | "never-empty";

/** Throws a StatusError with the reason BadRequest; the request is not sent to the server. */
export function requirePreconditions(request: ClientRequest, rule: PreconditionRule): void {
  const missing = missingFrom(request, rule === "required");
  if (missing === undefined) return;
  const what = `${request.method} ${request.path}`;
  const message = `refusing to send ${what} without a precondition: ${missing} is empty`;
  throw new StatusError({ code: 400, reason: "BadRequest", message });
}

function missingFrom(
  { method, path, body, contentType }: ClientRequest,
  isRequired: boolean,
): string | undefined {
  const content = isJsonObject(body) ? body : {};
  switch (method) {
    case "DELETE":
      return missingFromDelete(content, isRequired && isNamed(path));
    case "PUT":
      return missingFromMetadata(content, isRequired);
    case "PATCH":
      // An apply is valid whether or not the object exists, so it needs no precondition.
      return contentType === applyContentType
        ? missingFromMetadata(content, false)
        : missingFromPatch(body);
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
  return missingFromMetadata(
    patch,
    guardedMetadata.some((member) => Object.hasOwn(metadata, member)),
  );
}

/** In a JSON patch, `test` operations are the preconditions. */
function missingFromOperations(operations: readonly JsonValue[]): string | undefined {
  const tested: { [member: string]: JsonValue } = {};
  let isRequired = false;
  for (const operation of operations) {
    const { op, path, value = "" } = isJsonObject(operation) ? operation : {};
    const [, root, member] = String(path).split("/");
    if (op !== "test") {
      const isAll = root === undefined || (root === "metadata" && member === undefined);
      isRequired ||= isAll || (root === "metadata" && guardedMetadata.includes(member as string));
    } else if (root === "metadata" && (member === "uid" || member === "resourceVersion"))
      tested[member] = value;
  }
  return missingFromMetadata({ metadata: tested }, isRequired);
}

function missingFromMetadata(object: JsonObject, isRequired: boolean): string | undefined {
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  for (const member of ["uid", "resourceVersion"]) {
    const value = metadata[member];
    const isMissing = value === undefined ? isRequired : !isText(value);
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
