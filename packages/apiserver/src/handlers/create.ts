import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { ApiResponse } from "../request/api-request.ts";
import { addressOf, admissionRequest, storing, validatorFor } from "./admission-request.ts";
import { type HandlerRequest, type HandlerRooms, oneCluster, uncancelled } from "./context.ts";
import { checkAddress, readObject, refuseCreation } from "./decode-object.ts";
import { fieldOwner, parseMutationOptions } from "./options.ts";
import { finishWrite, negotiateObject, renderWritten } from "./render.ts";

export async function handleCreate(
  handled: HandlerRequest,
  rooms: HandlerRooms,
): Promise<ApiResponse> {
  const { scope, definition } = handled;
  const cluster = oneCluster(scope);
  if (scope.name !== "" || (definition.isNamespaced && scope.namespace === "")) {
    throw statusError.methodNotAllowed(definition, "create");
  }
  const form = negotiateObject(handled);
  const options = parseMutationOptions(scope.query, "CreateOptions");
  const { draft, isLarge } = await readObject(handled, options);
  refuseCreation(definition, draft);
  checkAddress(handled, draft, "create");
  const address = addressOf(handled, draft);
  const admitted = admissionRequest(handled, "CREATE", options.isDryRun, { address });
  const admission = rooms.admission.admit(admitted);
  if (admission !== undefined) await admission;
  const mutation = rooms.admission.mutate(admitted, draft, undefined);
  if (mutation !== undefined) await mutation;
  const target = { cluster, namespace: scope.namespace, name: "" };
  const validate = validatorFor(rooms, admitted);
  let stored: JsonObject = {};
  const written = await storing(rooms, admitted, () =>
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
  return renderWritten(201, answered, form, handled, rooms);
}
