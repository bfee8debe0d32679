/**
 * What a program must say of an object before it may delete it or write its owners or finalizers: which one it means, and which state of it.
 *
 * For loops that act for everybody, everywhere. What they know of an object, they were told; if that lacks a uid or a version, it is not to be
 * acted upon. A server takes an empty precondition for none.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { StatusError } from "@kcp-ts/machinery/status";
import type { ClientRequest } from "./client.ts";
import { applyContentType } from "./options.ts";

/**
 * `required`: deletions have a uid, updates a uid and a version. `never-empty`: what is given is not empty. With both, patches of owners and
 * finalizers have a uid and a version.
 */
export type PreconditionRule = "required" | "never-empty";

/** Throws a StatusError of the reason BadRequest, which the server is never asked about. */
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
      // An apply says what is to be, whether or not there is such an object yet.
      return contentType === applyContentType
        ? missingFromMetadata(content, false)
        : missingFromPatch(body);
    default:
      return undefined;
  }
}

/** The uid is enough where any state of the object will do; a version that is given is one. */
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

/** In a JSON patch, operations that test are the preconditions. */
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

/** `/api/v1/namespaces/default/pods/x` and `/api/v1/namespaces/default`, not `/api/v1/namespaces/default/pods`. */
function isNamed(path: string): boolean {
  const [, root, ...parts] = (path.split("?")[0] ?? "").split("/");
  const inVersion = parts.slice(root === "apis" ? 2 : 1);
  const isInNamespace = inVersion[0] === "namespaces" && inVersion.length > 2;
  return inVersion.length - (isInNamespace ? 2 : 0) > 1;
}
