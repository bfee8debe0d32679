/** Subresources that answer by themselves: the request has passed every gate and the object is there; the rest is their own affair. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { decodeBody } from "../content/index.ts";
import {
  apiVersionOf,
  type SubresourceCall,
  type SubresourceKind,
  type SubresourceStrategy,
  translating,
} from "../registry/index.ts";
import { type ApiResponse, header } from "../request/api-request.ts";
import { decodeObject } from "../stored-object/index.ts";
import { admissionRequest, validatorFor } from "./admission-request.ts";
import {
  bodyBytesMax,
  type HandlerRequest,
  type HandlerRooms,
  oneCluster,
  uncancelled,
} from "./context.ts";
import { parseMutationOptions } from "./options.ts";
import { decodeView } from "./subresource-view.ts";

export async function handleConnect(
  handled: HandlerRequest,
  rooms: HandlerRooms,
  subresource: SubresourceStrategy,
): Promise<ApiResponse> {
  const { definition, scope, user } = handled;
  const { namespace, name, verb, query } = scope;
  const address = { cluster: oneCluster(scope), namespace, name };
  const key = rooms.registry.key(definition, address);
  const entry =
    rooms.watchCache.peek(key) ??
    (await translating({ resource: definition }, () =>
      rooms.watchCache.get(key, { kind: "latest" }, handled.signal),
    ));
  if (entry === undefined || definition.isVisible?.(entry) === false)
    throw statusError.notFound(definition, name);
  const call: SubresourceCall = {
    verb,
    scope,
    headers: handled.request.headers,
    query,
    user,
    get signal() {
      return handled.signal;
    },
    get object() {
      return decodeObject(entry);
    },
    bytes: () => handled.request.readBody(bodyBytesMax),
    body: (kind) => readKind(handled, kind),
    update: async (build) => {
      const options = parseMutationOptions(query, "UpdateOptions");
      const admitted = admissionRequest(handled, "UPDATE", options.isDryRun);
      const written = await rooms.registry.update(
        definition,
        address,
        async (present) => build(present as JsonObject),
        {
          isDryRun: options.isDryRun,
          validate: validatorFor(rooms, admitted),
          signal: uncancelled,
          isDerived: true,
          // As upstream, nobody comes to own what such an endpoint does.
          subresource,
        },
      );
      return decodeObject(written.entry);
    },
  };
  return (subresource.connect as (call: SubresourceCall) => Promise<ApiResponse>)(call);
}

async function readKind(
  { request }: HandlerRequest,
  expected: SubresourceKind,
): Promise<JsonObject> {
  const bytes = await request.readBody(bodyBytesMax);
  const { kind, shape } = expected;
  const contentType = header(request.headers, "content-type");
  const body = decodeBody(bytes, contentType, { kind, apiVersion: apiVersionOf(expected), shape });
  return decodeView(expected, body.value);
}
