/** PUT of an object or of its status replaces the stored object with the one that is sent. */
import { shallowCopy } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { ApiResponse } from "../request/api-request.ts";
import {
  HandlerAdmissionRequest,
  storeAdmitted,
  validatingAdmission,
  withMutatingAdmission,
} from "./admission-request.ts";
import { checkAddress, readObject } from "./decode-object.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
  uncancelled,
} from "./handler-context.ts";
import { fieldOwner, parseMutationOptions } from "./options.ts";
import { finishWrite, negotiateObject, renderWriteResult } from "./render.ts";

export async function handleUpdate(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ApiResponse> {
  const { scope, definition } = handled;
  const cluster = requireSingleCluster(scope);
  const { namespace, name } = scope;
  if (name === "") throw statusError.methodNotAllowed(definition, "update");
  const form = negotiateObject(handled);
  const options = parseMutationOptions(scope.query, "UpdateOptions");
  const { draft, isLarge } = await readObject(handled, options);
  checkAddress(handled, draft, "update");
  const admitted = new HandlerAdmissionRequest(handled, "UPDATE", options.isDryRun);
  await dependencies.admission.admit(admitted);
  const written = await storeAdmitted(dependencies, admitted, () =>
    dependencies.registry.update(
      definition,
      { cluster, namespace, name },
      withMutatingAdmission(dependencies, admitted, async () => shallowCopy(draft)),
      {
        isDryRun: options.isDryRun,
        isLarge,
        user: handled.user,
        validate: validatingAdmission(dependencies, admitted),
        signal: uncancelled,
        fieldManager: fieldOwner(handled, options, "update"),
        asSent: admitted,
        subresource: definition.subresources.get(scope.subresource),
        mayCreate: definition.strategy.allowsCreateOnUpdate && scope.subresource === "",
      },
    ),
  );
  return renderWriteResult(
    written.outcome === "created" ? 201 : 200,
    await finishWrite(written, handled, dependencies),
    form,
    handled,
    dependencies,
  );
}
