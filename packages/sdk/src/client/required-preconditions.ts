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

/** Throws a StatusError of the reason BadRequest, which the server is never asked about. */
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
      return isNamed(path) ? missingFromDelete(content) : undefined;
    case "PUT":
      return missingFromMetadata(content, true);
    case "PATCH":
      // Applying takes away nothing but what the same manager brought, and makes what is not there yet: it names a state of the object only if it means one.
      return contentType === applyContentType
        ? missingFromMetadata(content, false)
        : missingFromPatch(body);
    default:
      return undefined;
  }
}

/** The uid is enough where any state of the object will do; a version that is given is one. */
function missingFromDelete(options: JsonObject): string | undefined {
  const preconditions = isJsonObject(options["preconditions"]) ? options["preconditions"] : {};
  if (!isText(preconditions["uid"])) return "preconditions.uid";
  const { resourceVersion } = preconditions;
  return resourceVersion === undefined || isText(resourceVersion)
    ? undefined
    : "preconditions.resourceVersion";
}

const guardedMetadata = ["finalizers", "ownerReferences"];

/** Operations of a JSON patch could touch anything: the first of them says of which object. */
function missingFromPatch(patch: JsonValue | undefined): string | undefined {
  if (!isJsonObject(patch)) return isTested(patch) ? undefined : "metadata.uid";
  const metadata = isJsonObject(patch["metadata"]) ? patch["metadata"] : {};
  return missingFromMetadata(
    patch,
    guardedMetadata.some((member) => Object.hasOwn(metadata, member)),
  );
}

function isTested(operations: JsonValue | undefined): boolean {
  const first: JsonValue | undefined = Array.isArray(operations) ? operations[0] : undefined;
  if (!isJsonObject(first)) return false;
  return first["op"] === "test" && first["path"] === "/metadata/uid" && isText(first["value"]);
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
