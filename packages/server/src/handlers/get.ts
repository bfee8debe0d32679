import { statusError } from "@kcp-ts/machinery/status";
import { translating } from "../registry/index.ts";
import type { ApiResponse } from "../request/api-request.ts";
import type { Freshness } from "../watch-cache/index.ts";
import { type HandlerRequest, type HandlerRooms, oneCluster } from "./context.ts";
import { parseResourceVersion } from "./options.ts";
import { negotiateObject, renderObject } from "./render.ts";

export async function handleGet(
  handled: HandlerRequest,
  rooms: HandlerRooms,
): Promise<ApiResponse> {
  const { definition, scope, signal } = handled;
  const form = negotiateObject(handled);
  const { namespace, name } = scope;
  const key = rooms.registry.key(definition, { cluster: oneCluster(scope), namespace, name });
  const askedVersion = scope.query.get("resourceVersion") ?? "";
  const entry = await translating({ resource: definition, askedVersion }, () =>
    rooms.watchCache.get(key, freshnessOf(askedVersion), signal),
  );
  if (entry === undefined) throw statusError.notFound(definition, name);
  return renderObject(200, entry, form, handled, rooms);
}

function freshnessOf(askedVersion: string): Freshness {
  const revision = parseResourceVersion(askedVersion);
  if (revision === undefined) return { kind: "latest" };
  return revision === 0 ? { kind: "any" } : { kind: "notOlder", revision };
}
