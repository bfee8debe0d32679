/** Subresources that answer by themselves: the request has passed every gate and the object is there; the rest is their own affair. */
import { cloneJson, type JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import {
  type ConnectRequest,
  type Draft,
  type SubresourceKind,
  type SubresourceStrategy,
  toServed,
  translateStorageErrors,
} from "../registry/index.ts";
import type { ApiResponse } from "../request/api-request.ts";
import type { Entry } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import { admissionRequest, validatingAdmission } from "./admission-request.ts";
import { admitSubresource, readKind } from "./admit-subresource.ts";
import { queryFrom } from "./connect-options.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
  uncancelled,
} from "./context.ts";
import { sentBody } from "./decode-object.ts";
import { parseMutationOptions } from "./options.ts";

export async function handleConnect(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
  subresource: SubresourceStrategy,
): Promise<ApiResponse> {
  const { scope, user } = handled;
  const { verb } = scope;
  const { admitted } = subresource;
  requireSingleCluster(scope);
  // As upstream, before anybody looks whether the object is there.
  const asked = admitted && (await admitSubresource(handled, rooms, admitted));
  const isConnect = admitted?.operation === "CONNECT" && asked !== undefined;
  const entry = await find(handled, rooms);
  const call: ConnectRequest = {
    verb,
    scope,
    headers: handled.request.headers,
    query: isConnect ? queryFrom(admitted.kind, asked) : scope.query,
    user,
    get signal() {
      return handled.signal;
    },
    get object() {
      return decodeObject(entry);
    },
    bytes: async () => sentBody(handled).bytes,
    body: async (kind: SubresourceKind) =>
      asked !== undefined && admitted?.kind === kind ? asked : readKind(handled, kind),
    update: (build) => update(handled, rooms, subresource, build),
    admitChange: (wanted) => admitChange(handled, rooms, decodeObject(entry), wanted),
  };
  return (subresource.connect as (call: ConnectRequest) => Promise<ApiResponse>)(call);
}

async function find(handled: HandlerRequest, rooms: HandlerDependencies): Promise<Entry> {
  const { definition, scope } = handled;
  const { namespace, name } = scope;
  const address = { cluster: requireSingleCluster(scope), namespace, name };
  const key = rooms.registry.key(definition, address);
  const entry =
    rooms.watchCache.peek(key) ??
    (await translateStorageErrors({ resource: definition }, () =>
      rooms.watchCache.get(key, { kind: "latest" }, handled.signal),
    ));
  if (entry === undefined || definition.isVisible?.(entry) === false)
    throw statusError.notFound(definition, name);
  return toServed(definition, entry);
}

async function update(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
  subresource: SubresourceStrategy,
  build: Parameters<ConnectRequest["update"]>[0],
): Promise<JsonObject> {
  const { definition, scope } = handled;
  const { namespace, name, query } = scope;
  const { isDryRun } = parseMutationOptions(query, "UpdateOptions");
  const written = await rooms.registry.update(
    definition,
    { cluster: requireSingleCluster(scope), namespace, name },
    async (present) => build(present as JsonObject),
    {
      isDryRun,
      // Where admission has judged the request, what comes of it is not asked about again.
      validate:
        subresource.admitted === undefined
          ? validatingAdmission(rooms, admissionRequest(handled, "UPDATE", isDryRun))
          : () => undefined,
      signal: uncancelled,
      isDerived: true,
      // As upstream, nobody comes to own what such an endpoint does.
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
  const request = admissionRequest(handled, "UPDATE", isDryRun);
  const draft = cloneJson<Draft>(wanted);
  await admission.admit(request);
  await admission.mutate(request, draft, old);
  await admission.validate(request, draft, old);
  return draft;
}
