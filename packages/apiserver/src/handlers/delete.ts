/**
 * DELETE of one object deletes it at once or, when finalizers or a grace period delay the deletion,
 * sets its deletionTimestamp.
 */
import { jsonResponse, successResponse } from "../content/index.ts";
import type { WriteResult } from "../registry/index.ts";
import type { ApiResponse } from "../request/api-request.ts";
import { HandlerAdmissionRequest, validatingAdmission } from "./admission-request.ts";
import { type DeleteOptions, readDeleteOptions } from "./delete-options.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
  uncancelled,
} from "./handler-context.ts";
import { finishWrite, negotiateObject, renderWriteResult } from "./render.ts";

/** Permits to delete objects that cannot be read, without regard to their finalizers. */
const unsafeDeleteVerb = "unsafe-delete-ignore-read-errors";

export async function handleDelete(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ApiResponse> {
  const { scope } = handled;
  const form = negotiateObject(handled);
  const options = await readDeleteOptions(handled);
  const isReadable = options.ignoresReadError !== true;
  const isShown = handled.definition.strategy.returnsDeletedObject && isReadable;
  const { namespace, name } = scope;
  // As in Kubernetes, a conversion that fails fails the deletion, though its result is not shown.
  const isConverted = isShown || (isReadable && mayFailToConvert(handled));
  const address = { namespace, name, isShown: isConverted };
  const written = await deleteOne(handled, dependencies, address, options);
  if (written.outcome === "deleted" && !isShown) {
    return jsonResponse(200, successResponse(detailsOf(handled, written, scope.name)));
  }
  const status = written.outcome === "marked" && options.isOrphaningRefused ? 202 : 200;
  return renderWriteResult(
    status,
    await finishWrite(written, handled, dependencies),
    form,
    handled,
    dependencies,
  );
}

/** A webhook converts what is stored to the served version. */
export function mayFailToConvert({ definition: { codec } }: HandlerRequest): boolean {
  return codec !== undefined && codec.toServedSync === undefined;
}

interface DeletedAddress {
  readonly namespace: string;
  readonly name: string;
  /** Whether the response shows the object: if not, it is not converted. */
  readonly isShown: boolean;
}

export async function deleteOne(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  { isShown, ...address }: DeletedAddress,
  options: DeleteOptions,
): Promise<WriteResult> {
  const { scope, definition } = handled;
  const admitted = new HandlerAdmissionRequest(handled, "DELETE", options.isDryRun, {
    address,
    options: options.sent,
  });
  if (options.ignoresReadError === true)
    await dependencies.authorizeVerb(admitted, unsafeDeleteVerb);
  await dependencies.admission.admit(admitted);
  const at = { cluster: requireSingleCluster(scope), ...address };
  const written = await dependencies.registry.delete(definition, at, options, {
    isDryRun: options.isDryRun,
    validate: validatingAdmission(dependencies, admitted),
    validates: () => dependencies.admission.validates(admitted),
    isDeletedShown: isShown,
    signal: uncancelled,
  });
  if (definition.waitsForOwnWrite === true && !options.isDryRun)
    await dependencies.watchCache.hub.waitUntilSeen(written.entry.modifiedAt, uncancelled);
  return written;
}

/** kubectl waits until the object with exactly this uid is deleted. */
function detailsOf({ definition }: HandlerRequest, { uid }: WriteResult, name: string) {
  const { group, resource } = definition;
  return {
    name,
    ...(group === "" ? {} : { group }),
    kind: resource,
    ...(uid === undefined ? {} : { uid }),
  };
}
