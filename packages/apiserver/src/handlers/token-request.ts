/** POST …/serviceaccounts/<name>/token issues a token for a service account. Nothing is stored. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError, statusError } from "@kcp-ts/machinery/status";
import { negotiate } from "../content/index.ts";
import {
  apiVersionOf,
  type Draft,
  type SubresourceKind,
  secrets,
  storageKeyOf,
  timestamp,
} from "../registry/index.ts";
import { type ApiResponse, header } from "../request/api-request.ts";
import { decodeObject } from "../stored-object/index.ts";
import { HandlerAdmissionRequest } from "./admission-request.ts";
import { admissionKindOf, mutateDraft, readKind } from "./admit-subresource.ts";
import { namespaceMismatchError } from "./decode-object.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
} from "./handler-context.ts";
import { parseMutationOptions } from "./options.ts";
import { renderValue } from "./render.ts";

const expirationSecondsDefault = 3600;
const expirationSecondsMin = 600;
const expirationSecondsMax = 2 ** 32;

/**
 * The maximum number of audiences of one token: each is part of the token, which is a header of
 * later requests.
 */
export const audiencesMax = 64;
export const audienceLengthMax = 512;

export async function handleTokenRequest(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ApiResponse> {
  const { scope } = handled;
  const cluster = requireSingleCluster(scope);
  const { namespace, name } = scope;
  const { tokens } = dependencies;
  if (tokens === undefined) throw statusError.pathNotFound();
  const form = negotiate(header(handled.request.headers, "accept"), {});
  const options = parseMutationOptions(scope.query, "CreateOptions");
  const action = handled.definition.subresources.get(scope.subresource)?.action as SubresourceKind;
  const asked = await readRequest(handled, action);
  checkAddress(asked, namespace, name);
  const account = await find(handled, dependencies, handled.definition, name);
  const view = admissionKindOf(action);
  const request = new HandlerAdmissionRequest(handled, "CREATE", options.isDryRun, { view });
  await mutateDraft(dependencies, request, asked);
  const uid = uidOf(account);
  checkUid(asked, name, uid);
  const spec = tokenParametersOf(asked, tokens.audiences);
  const nowMs = dependencies.clock.now();
  const metadata = { name, namespace, uid, creationTimestamp: timestamp(nowMs) };
  const { kind, apiVersion } = asked;
  const wanted: JsonObject = { kind, apiVersion, metadata, spec } as JsonObject;
  await dependencies.admission.validate(request, wanted, undefined);
  const secret = await boundSecret(handled, dependencies, spec["boundObjectRef"]);
  const issued = tokens.issue({
    account: { cluster, namespace, name, uid },
    secret,
    audiences: spec["audiences"] as string[],
    expirationSeconds: spec["expirationSeconds"] as number,
  });
  const status = { token: issued.token, expirationTimestamp: timestamp(issued.expiresAt) };
  return renderValue(201, { ...wanted, status }, form);
}

/**
 * Decodes the request with the defaults that admission sees: no default audiences, since the client
 * has chosen none.
 */
async function readRequest(handled: HandlerRequest, action: SubresourceKind): Promise<Draft> {
  const { status: _, ...asked } = await readKind(handled, action);
  const spec = isJsonObject(asked["spec"]) ? asked["spec"] : {};
  const { expirationSeconds = expirationSecondsDefault } = spec;
  return {
    ...asked,
    kind: action.kind,
    apiVersion: apiVersionOf(action),
    spec: { ...spec, expirationSeconds },
  };
}

function checkAddress(asked: JsonObject, namespace: string, name: string): void {
  const metadata = isJsonObject(asked["metadata"]) ? asked["metadata"] : {};
  const { name: givenName = "", namespace: givenNamespace = "" } = metadata;
  if (givenNamespace !== "" && givenNamespace !== namespace) throw namespaceMismatchError();
  if (givenName === "" || givenName === name) return;
  const why = "must match the service account name if specified";
  refuseInvalid([fieldError.invalid("metadata.name", givenName, why)], name);
}

/** Rejects a uid of another account that had the same name. */
function checkUid(asked: JsonObject, name: string, uid: string): void {
  const { uid: given = "" } = isJsonObject(asked["metadata"]) ? asked["metadata"] : {};
  if (given === "" || given === uid) return;
  throw statusError.conflict(
    { group: "authentication.k8s.io", resource: "TokenRequest" },
    name,
    `the UID in the token request (${String(given)}) does not match the UID of the service account (${uid})`,
  );
}

/** The spec with its defaults. */
function tokenParametersOf(asked: JsonObject, own: readonly string[]): JsonObject {
  const spec = isJsonObject(asked["spec"]) ? asked["spec"] : {};
  const audiences = (spec["audiences"] ?? []) as readonly string[];
  const seconds = Number(spec["expirationSeconds"] ?? expirationSecondsDefault);
  const errors: FieldError[] = [];
  const field = "spec.expirationSeconds";
  if (seconds < expirationSecondsMin) {
    const why = "may not specify a duration less than 10 minutes";
    errors.push(fieldError.invalid(field, seconds, why));
  }
  if (seconds > expirationSecondsMax) {
    const why = "may not specify a duration larger than 2^32 seconds";
    errors.push(fieldError.invalid(field, seconds, why));
  }
  if (audiences.length > audiencesMax) {
    const why = `must have at most ${audiencesMax} items`;
    errors.push(fieldError.invalid("spec.audiences", audiences.length, why));
  } else if (audiences.some((audience) => audience.length > audienceLengthMax)) {
    errors.push(fieldError.tooLong("spec.audiences", audienceLengthMax));
  }
  refuseInvalid(errors, "");
  return {
    audiences: audiences.length === 0 ? [...own] : audiences,
    expirationSeconds: seconds,
    boundObjectRef: spec["boundObjectRef"] ?? null,
  };
}

function refuseInvalid(errors: readonly FieldError[], name: string): void {
  if (errors.length === 0) return;
  throw statusError.invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, name, errors);
}

async function boundSecret(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  reference: unknown,
): Promise<{ readonly name: string; readonly uid: string } | undefined> {
  if (!isJsonObject(reference as JsonObject | null)) return undefined;
  const { apiVersion = "", kind = "", name = "", uid = "" } = reference as Record<string, string>;
  if (apiVersion !== "v1" || kind !== "Secret") {
    const [version, group = ""] = apiVersion.split("/").reverse();
    throw statusError.badRequest(
      `cannot bind token to object of type ${group}/${version}, Kind=${kind}`,
    );
  }
  const found = uidOf(await find(handled, dependencies, secrets, name));
  if (uid === "" || uid === found) return { name, uid: found };
  throw statusError.conflict(
    { group: "", resource: kind },
    name,
    `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
  );
}

async function find(
  { scope, signal }: HandlerRequest,
  { watchCache }: HandlerDependencies,
  definition: HandlerRequest["definition"],
  name: string,
): Promise<JsonObject> {
  const { namespace } = scope;
  if (name === "" || name.includes("/")) throw statusError.notFound(definition, name);
  const key = storageKeyOf(definition, { cluster: requireSingleCluster(scope), namespace, name });
  const entry = await watchCache.get(key, { kind: "latest" }, signal);
  if (entry === undefined) throw statusError.notFound(definition, name);
  return decodeObject(entry);
}

function uidOf(object: JsonObject): string {
  return String((object["metadata"] as JsonObject)["uid"]);
}
