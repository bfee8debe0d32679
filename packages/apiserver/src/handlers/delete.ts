/** Deletes one object, at once or, when something holds it back, by marking it. */
import { jsonResponse, successResponse } from "../content/index.ts";
import type { WriteResult } from "../registry/index.ts";
import type { ApiResponse } from "../request/api-request.ts";
import { admissionRequest, validatingAdmission } from "./admission-request.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
  uncancelled,
} from "./context.ts";
import { type DeleteOptions, readDeleteOptions } from "./delete-options.ts";
import { finishWrite, negotiateObject, renderWriteResult } from "./render.ts";

export async function handleDelete(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
): Promise<ApiResponse> {
  const { scope } = handled;
  const form = negotiateObject(handled);
  const options = await readDeleteOptions(handled);
  const written = await deleteOne(
    handled,
    rooms,
    { namespace: scope.namespace, name: scope.name },
    options,
  );
  if (written.outcome === "deleted" && !handled.definition.strategy.returnsDeletedObject) {
    return jsonResponse(200, successResponse(detailsOf(handled, written, scope.name)));
  }
  const status = written.outcome === "marked" && options.isOrphaningRefused ? 202 : 200;
  return renderWriteResult(
    status,
    await finishWrite(written, handled, rooms),
    form,
    handled,
    rooms,
  );
}

export async function deleteOne(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
  address: { readonly namespace: string; readonly name: string },
  options: DeleteOptions,
): Promise<WriteResult> {
  const { scope, definition } = handled;
  const admitted = admissionRequest(handled, "DELETE", options.isDryRun, {
    address,
    options: options.sent,
  });
  const admission = rooms.admission.admit(admitted);
  if (admission !== undefined) await admission;
  const at = { cluster: requireSingleCluster(scope), ...address };
  const written = await rooms.registry.delete(definition, at, options, {
    isDryRun: options.isDryRun,
    validate: validatingAdmission(rooms, admitted),
    signal: uncancelled,
  });
  if (definition.isSeenOnAnswer === true && !options.isDryRun)
    await rooms.watchCache.hub.seen(written.entry.modifiedAt, uncancelled);
  return written;
}

/** kubectl waits for exactly this uid to be gone. */
function detailsOf({ definition }: HandlerRequest, { uid }: WriteResult, name: string) {
  const { group, resource } = definition;
  return {
    name,
    ...(group === "" ? {} : { group }),
    kind: resource,
    ...(uid === undefined ? {} : { uid }),
  };
}
