/**
 * Handles reads of computed resources, which are not stored: the resource computes the objects, and
 * the response has the form of any other read.
 */
import { runSyncFirst } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { negotiate, parseIncludeObject, tableResumable } from "../content/index.ts";
import { apiVersionOf, type ComputedResource } from "../registry/index.ts";
import { type ApiResponse, header } from "../request/api-request.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
} from "./handler-context.ts";
import { parseListOptions } from "./options.ts";
import { renderValue } from "./render.ts";

export async function handleComputed(
  handled: HandlerRequest,
  { clock }: HandlerDependencies,
  computed: ComputedResource,
): Promise<ApiResponse> {
  const { request, scope, definition, warnings, signal } = handled;
  const { namespace, name, query } = scope;
  const form = negotiate(header(request.headers, "accept"), { table: true });
  const isOne = scope.verb === "get";
  const { labelSelector, fieldSelector } = isOne ? ofOne(name) : parseListOptions(query, false);
  const found = await computed.list({
    cluster: requireSingleCluster(scope),
    namespace,
    labelSelector,
    fieldSelector,
    signal,
    warn: (text) => void warnings.push(text),
  });
  const about = { kind: definition.kind, apiVersion: apiVersionOf(definition) };
  if (form.as === "table") {
    const includeObject = parseIncludeObject(query);
    const objects = found.map((one) => ({ ...about, ...one }));
    const table = { version: form.version, includeObject, nowMs: clock.now(), withColumns: true };
    if (isOne && objects.length === 0) throw statusError.notFound(definition, name);
    const rows = tableResumable(definition, objects, {}, table);
    return renderValue(200, await runSyncFirst(rows), form);
  }
  if (isOne) {
    const [one] = found;
    if (one === undefined) throw statusError.notFound(definition, name);
    return renderValue(200, { ...about, ...one }, form);
  }
  const list: JsonObject = {
    kind: definition.listKind,
    apiVersion: about.apiVersion,
    metadata: {},
    items: [...found],
  };
  return renderValue(200, list, form);
}

function ofOne(name: string) {
  return { labelSelector: "", fieldSelector: `metadata.name=${name}` };
}
