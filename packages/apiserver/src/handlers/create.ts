/** POST of a new object: decoded, admitted, and created by the registry. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { ApiResponse } from "../request/api-request.ts";
import {
  addressOf,
  admissionRequest,
  storeAdmitted,
  validatingAdmission,
} from "./admission-request.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
  uncancelled,
} from "./context.ts";
import { checkAddress, checkCreationAllowed, readObject } from "./decode-object.ts";
import { fieldOwner, parseMutationOptions } from "./options.ts";
import { finishWrite, negotiateObject, renderWriteResult } from "./render.ts";

export async function handleCreate(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
): Promise<ApiResponse> {
  const { scope, definition } = handled;
  const cluster = requireSingleCluster(scope);
  if (scope.name !== "" || (definition.isNamespaced && scope.namespace === "")) {
    throw statusError.methodNotAllowed(definition, "create");
  }
  const form = negotiateObject(handled);
  const options = parseMutationOptions(scope.query, "CreateOptions");
  const { draft, isLarge } = await readObject(handled, options);
  checkCreationAllowed(definition, draft);
  checkAddress(handled, draft, "create");
  const address = addressOf(handled, draft);
  const admitted = admissionRequest(handled, "CREATE", options.isDryRun, { address });
  const admission = rooms.admission.admit(admitted);
  if (admission !== undefined) await admission;
  const mutation = rooms.admission.mutate(admitted, draft, undefined);
  if (mutation !== undefined) await mutation;
  const target = { cluster, namespace: scope.namespace, name: "" };
  const validate = validatingAdmission(rooms, admitted);
  let stored: JsonObject = {};
  const written = await storeAdmitted(rooms, admitted, () =>
    rooms.registry.create(definition, target, draft, {
      isDryRun: options.isDryRun,
      isLarge,
      user: handled.user,
      validate: (object, old) => {
        stored = object["metadata"] as JsonObject;
        return validate(object, old);
      },
      signal: uncancelled,
      owner: fieldOwner(handled, options, "update"),
      asSent: admitted,
    }),
  );
  handled.noteObject(stored);
  const answered = await finishWrite(written, handled, rooms);
  return renderWriteResult(201, answered, form, handled, rooms);
}
