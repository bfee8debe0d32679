import { shallowCopy } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { ApiResponse } from "../request/api-request.ts";
import { admissionRequest, mutating, storing, validatorFor } from "./admission-request.ts";
import { type HandlerRequest, type HandlerRooms, oneCluster, uncancelled } from "./context.ts";
import { checkAddress, readObject } from "./decode-object.ts";
import { fieldOwner, parseMutationOptions } from "./options.ts";
import { finishWrite, negotiateObject, renderWritten } from "./render.ts";

export async function handleUpdate(
  handled: HandlerRequest,
  rooms: HandlerRooms,
): Promise<ApiResponse> {
  const { scope, definition } = handled;
  const cluster = oneCluster(scope);
  const { namespace, name } = scope;
  if (name === "") throw statusError.methodNotAllowed(definition, "update");
  const form = negotiateObject(handled);
  const options = parseMutationOptions(scope.query, "UpdateOptions");
  const { draft, isLarge } = await readObject(handled, options);
  checkAddress(handled, draft, "update");
  const admitted = admissionRequest(handled, "UPDATE", options.isDryRun);
  const admission = rooms.admission.admit(admitted);
  if (admission !== undefined) await admission;
  const written = await storing(rooms, admitted, () =>
    rooms.registry.update(
      definition,
      { cluster, namespace, name },
      mutating(rooms, admitted, async () => shallowCopy(draft)),
      {
        isDryRun: options.isDryRun,
        isLarge,
        user: handled.user,
        validate: validatorFor(rooms, admitted),
        signal: uncancelled,
        owner: fieldOwner(handled, options, "update"),
        asSent: admitted,
        subresource: definition.subresources.get(scope.subresource),
        mayCreate: definition.strategy.allowsCreateOnUpdate && scope.subresource === "",
      },
    ),
  );
  return renderWritten(
    written.outcome === "created" ? 201 : 200,
    await finishWrite(written, handled, rooms),
    form,
    handled,
    rooms,
  );
}
