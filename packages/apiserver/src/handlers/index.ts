/** The table of the handlers; each verb has a file of its own. */
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import type { ApiResponse, MaybePromise } from "../request/api-request.ts";
import type { Verb } from "../request/request-scope.ts";
import { handleComputed } from "./computed.ts";
import { handleConnect } from "./connect.ts";
import { handleCreate } from "./create.ts";
import { handleDelete } from "./delete.ts";
import { handleDeleteCollection } from "./delete-collection.ts";
import { handleGet } from "./get.ts";
import type { HandlerDependencies, HandlerRequest } from "./handler-context.ts";
import { handleList } from "./list.ts";
import { handlePatch } from "./patch.ts";
import { handleReview } from "./review.ts";
import { handleView } from "./subresource-view.ts";
import { handleTokenRequest } from "./token-request.ts";
import { handleUpdate } from "./update.ts";
import { handleWatch } from "./watch.ts";

export { DefinitionDecoder } from "./admission-request.ts";
export {
  type AdditionalSubresource,
  bodyBytesMax,
  type HandlerDependencies,
  type HandlerRequest,
} from "./handler-context.ts";
export type { Reviewer, Reviewers, ReviewRequest } from "./review.ts";
export type { TokenSource } from "./token-source.ts";
export { timeoutDefaultMinMs } from "./watch.ts";

export type Handler = (
  handled: HandlerRequest,
  rooms: HandlerDependencies,
) => MaybePromise<ApiResponse>;

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

/** Returns the handler of a request, or throws when there is none, before the body is received. */
export function handlerOf(handled: HandlerRequest, dependencies: HandlerDependencies): Handler {
  const { scope, definition } = handled;
  if (!definition.isNamespaced && scope.namespace !== "" && !isNamespaceItself(handled)) {
    throw statusError.pathNotFound();
  }
  if (scope.subresource !== "") {
    if (definition.isNamespaced && scope.namespace === "") throw statusError.pathNotFound();
    const subresource =
      definition.subresources.get(scope.subresource) ??
      dependencies.additionalSubresource?.(definition, scope);
    if (subresource === undefined) {
      throw definition.itemsCarryKind
        ? statusError.notFound(definition, scope.name)
        : statusError.pathNotFound();
    }
    if (!subresource.verbs.includes(scope.verb)) throw notAllowed(handled);
    const { connect, action, view } = subresource;
    if (connect !== undefined)
      return (request, given) => handleConnect(request, given, subresource);
    if (action !== undefined) return handleTokenRequest;
    if (view !== undefined) return (request, given) => handleView(request, given, view);
  } else if (
    !definition.verbs.includes(scope.verb) ||
    namesObject[scope.verb] === (scope.name === "")
  ) {
    throw notAllowed(handled);
  } else if (definition.isNamespaced && scope.namespace === "" && needsNamespace(handled)) {
    throw scope.name === "" && !definition.itemsCarryKind
      ? notAllowed(handled)
      : statusError.pathNotFound();
  }
  if (definition.warnings !== undefined) handled.warnings.push(...definition.warnings);
  const { isReview, computed } = definition;
  if (isReview === true) return handleReview;
  if (computed !== undefined) return (request, given) => handleComputed(request, given, computed);
  return handlers[scope.verb];
}

/** Only reads may span all namespaces. */
function needsNamespace({ scope: { verb } }: HandlerRequest): boolean {
  return verb !== "list" && verb !== "watch";
}

/** A create names a collection; updates and patches name an object; other verbs name either. */
const namesObject: Readonly<Partial<Record<Verb, boolean>>> = {
  create: false,
  update: true,
  patch: true,
};

/** `namespaces/a`: the name of a Namespace is also the namespace of the request. */
function isNamespaceItself({ scope, definition }: HandlerRequest): boolean {
  const { resource, group } = definition;
  return resource === "namespaces" && group === "" && scope.name === scope.namespace;
}

function notAllowed({ definition, scope }: HandlerRequest): StatusError {
  return definition.itemsCarryKind
    ? statusError.methodNotAllowed(definition, scope.verb)
    : statusError.methodNotAllowedHere();
}
