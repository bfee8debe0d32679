/**
 * Handles subresources with their own implementation: the request has passed authorization and
 * admission and the object exists; the subresource does the rest.
 */
import { cloneJson, type JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import {
  type ConnectRequest,
  type Draft,
  type SubresourceKind,
  type SubresourceStrategy,
  storageKeyOf,
  toServed,
  translateStorageErrors,
} from "../registry/index.ts";
import type { ApiResponse } from "../request/api-request.ts";
import type { Entry } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import { HandlerAdmissionRequest, validatingAdmission } from "./admission-request.ts";
import { admitSubresource, readKind } from "./admit-subresource.ts";
import { queryFrom } from "./connect-options.ts";
import { sentBody } from "./decode-object.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
  uncancelled,
} from "./handler-context.ts";
import { parseMutationOptions } from "./options.ts";

export async function handleConnect(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  subresource: SubresourceStrategy,
): Promise<ApiResponse> {
  const { scope, user } = handled;
  const { verb } = scope;
  const { admissionTarget } = subresource;
  requireSingleCluster(scope);
  // As upstream, admission runs before the object is looked up.
  const asked = admissionTarget && (await admitSubresource(handled, dependencies, admissionTarget));
  const isConnect = admissionTarget?.operation === "CONNECT" && asked !== undefined;
  const entry = await find(handled, dependencies);
  const call: ConnectRequest = {
    verb,
    scope,
    headers: handled.request.headers,
    query: isConnect ? queryFrom(admissionTarget.kind, asked) : scope.query,
    user,
    get signal() {
      return handled.signal;
    },
    get object() {
      return decodeObject(entry);
    },
    bytes: async () => sentBody(handled).bytes,
    body: async (kind: SubresourceKind) =>
      asked !== undefined && admissionTarget?.kind === kind ? asked : readKind(handled, kind),
    update: (build) => update(handled, dependencies, subresource, build),
    admitChange: (wanted) => admitChange(handled, dependencies, decodeObject(entry), wanted),
  };
  return (subresource.connect as (call: ConnectRequest) => Promise<ApiResponse>)(call);
}

async function find(handled: HandlerRequest, dependencies: HandlerDependencies): Promise<Entry> {
  const { definition, scope } = handled;
  const { namespace, name } = scope;
  const address = { cluster: requireSingleCluster(scope), namespace, name };
  const key = storageKeyOf(definition, address);
  const entry =
    dependencies.watchCache.peek(key) ??
    (await translateStorageErrors({ resource: definition }, () =>
      dependencies.watchCache.get(key, { kind: "latest" }, handled.signal),
    ));
  if (entry === undefined || definition.isVisible?.(entry) === false)
    throw statusError.notFound(definition, name);
  return toServed(definition, entry);
}

async function update(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  subresource: SubresourceStrategy,
  build: Parameters<ConnectRequest["update"]>[0],
): Promise<JsonObject> {
  const { definition, scope } = handled;
  const { namespace, name, query } = scope;
  const { isDryRun } = parseMutationOptions(query, "UpdateOptions");
  const written = await dependencies.registry.update(
    definition,
    { cluster: requireSingleCluster(scope), namespace, name },
    async (present) => build(present as JsonObject),
    {
      isDryRun,
      // Admission has already admitted the request; the resulting update is not admitted again.
      validate:
        subresource.admissionTarget === undefined
          ? validatingAdmission(
              dependencies,
              new HandlerAdmissionRequest(handled, "UPDATE", isDryRun),
            )
          : () => undefined,
      signal: uncancelled,
      isDerivedFromLive: true,
      // As upstream, changes by such a subresource have no field owner.
      subresource,
    },
  );
  return decodeObject(await toServed(definition, written.entry));
}

async function admitChange(
  handled: HandlerRequest,
  { admission }: HandlerDependencies,
  old: JsonObject,
  wanted: JsonObject,
): Promise<JsonObject> {
  const { isDryRun } = parseMutationOptions(handled.scope.query, "UpdateOptions");
  const request = new HandlerAdmissionRequest(handled, "UPDATE", isDryRun);
  const draft = cloneJson<Draft>(wanted);
  await admission.admit(request);
  await admission.mutate(request, draft, old);
  await admission.validate(request, draft, old);
  return draft;
}
