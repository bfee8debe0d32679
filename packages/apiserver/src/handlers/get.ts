import { statusError } from "@kcp-ts/machinery/status";
import type { ResponseFormat } from "../content/index.ts";
import { storageKeyOf, toServed, translateStorageErrors } from "../registry/index.ts";
import type { ApiResponse, MaybePromise } from "../request/api-request.ts";
import type { StorageKey } from "../storage/index.ts";
import type { Freshness } from "../watch-cache/index.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
} from "./handler-context.ts";
import { parseResourceVersion } from "./options.ts";
import { negotiateObject, renderObject } from "./render.ts";

/**
 * GET of one object responds synchronously when the object is cached: clients send this request
 * most often.
 */
export function handleGet(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
): MaybePromise<ApiResponse> {
  const { definition, scope } = handled;
  const form = negotiateObject(handled);
  const { namespace, name } = scope;
  const asked = requireSingleCluster(scope);
  const key = storageKeyOf(definition, {
    cluster: definition.sourceCluster ?? asked,
    namespace,
    name,
  });
  const askedVersion = scope.query.get("resourceVersion") ?? "";
  if (askedVersion === "" || askedVersion === "0") {
    const entry = dependencies.watchCache.peek(key);
    if (entry !== undefined) {
      if (definition.isVisible?.(entry) === false) throw statusError.notFound(definition, name);
      if (definition.codec === undefined)
        return renderObject(200, entry, form, handled, dependencies);
      const shown = toServed(definition, entry);
      return shown instanceof Promise
        ? shown.then((each) => renderObject(200, each, form, handled, dependencies))
        : renderObject(200, shown, form, handled, dependencies);
    }
  }
  return getStored(handled, dependencies, key, askedVersion, form);
}

async function getStored(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  key: StorageKey,
  askedVersion: string,
  form: ResponseFormat,
): Promise<ApiResponse> {
  const { definition, scope, signal } = handled;
  const entry = await translateStorageErrors({ resource: definition, askedVersion }, () =>
    dependencies.watchCache.get(key, freshnessOf(askedVersion), signal),
  );
  if (entry === undefined || definition.isVisible?.(entry) === false)
    throw statusError.notFound(definition, scope.name);
  return renderObject(200, await toServed(definition, entry), form, handled, dependencies);
}

function freshnessOf(askedVersion: string): Freshness {
  const revision = parseResourceVersion(askedVersion);
  if (revision === undefined) return { kind: "latest" };
  return revision === 0 ? { kind: "any" } : { kind: "notOlder", revision };
}
