/** One verb per file; this is the table of them. */
import { statusError } from "@kcp-ts/machinery/status";
import type { ApiResponse, MaybePromise } from "../request/api-request.ts";
import type { Verb } from "../request/request-scope.ts";
import { handleConnect } from "./connect.ts";
import type { HandlerRequest, HandlerRooms } from "./context.ts";
import { handleCreate } from "./create.ts";
import { handleDelete } from "./delete.ts";
import { handleDeleteCollection } from "./delete-collection.ts";
import { handleGet } from "./get.ts";
import { handleList } from "./list.ts";
import { handlePatch } from "./patch.ts";
import { handleReview } from "./review.ts";
import { handleView } from "./subresource-view.ts";
import { handleTokenRequest } from "./token-request.ts";
import { handleUpdate } from "./update.ts";
import { handleWatch } from "./watch.ts";

export { DefinitionForm } from "./admission-request.ts";
export { bodyBytesMax, type HandlerRequest, type HandlerRooms } from "./context.ts";
export type { Reviewer, Reviewers, ReviewRequest } from "./review.ts";
export type { TokenSource } from "./token-source.ts";

type Handler = (handled: HandlerRequest, rooms: HandlerRooms) => MaybePromise<ApiResponse>;

const handlers: Readonly<Record<Verb, Handler>> = {
  get: handleGet,
  list: handleList,
  watch: handleWatch,
  create: handleCreate,
  update: handleUpdate,
  patch: handlePatch,
  delete: handleDelete,
  deletecollection: handleDeleteCollection,
};

/** Every verb that has a handler. */
export const servedVerbs = Object.keys(handlers) as readonly Verb[];

export function handleResource(
  handled: HandlerRequest,
  rooms: HandlerRooms,
): MaybePromise<ApiResponse> {
  const { scope, definition } = handled;
  if (
    definition.isNamespaced === false &&
    scope.namespace !== "" &&
    definition.resource !== "namespaces"
  ) {
    throw statusError.pathNotFound();
  }
  if (scope.subresource !== "") {
    const subresource = definition.subresources.get(scope.subresource);
    if (subresource === undefined) throw statusError.pathNotFound();
    if (!subresource.verbs.includes(scope.verb))
      throw statusError.methodNotAllowed(definition, scope.verb);
    if (subresource.connect !== undefined) return handleConnect(handled, rooms, subresource);
    if (subresource.action !== undefined) return handleTokenRequest(handled, rooms);
    if (subresource.view !== undefined) return handleView(handled, rooms, subresource.view);
  } else if (!definition.verbs.includes(scope.verb)) {
    throw statusError.methodNotAllowed(definition, scope.verb);
  } else if (definition.isNamespaced && scope.namespace === "" && needsNamespace(scope.verb)) {
    throw statusError.pathNotFound();
  }
  if (definition.warnings !== undefined) handled.warnings.push(...definition.warnings);
  if (definition.isReview === true) return handleReview(handled, rooms);
  return handlers[scope.verb](handled, rooms);
}

/** Across all namespaces one can look, not touch. */
function needsNamespace(verb: Verb): boolean {
  return verb !== "list" && verb !== "watch" && verb !== "deletecollection";
}
