/** POST decodes, admits and stores a new object. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { ApiResponse } from "../request/api-request.ts";
import { HandlerAdmissionRequest, storeAdmitted } from "./admission-request.ts";
import { checkAddress, readObject } from "./decode-object.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
  uncancelled,
} from "./handler-context.ts";
import { fieldOwner, parseMutationOptions } from "./options.ts";
import { finishWrite, negotiateObject, renderWriteResult } from "./render.ts";

export async function handleCreate(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ApiResponse> {
  const { scope, definition } = handled;
  const cluster = requireSingleCluster(scope);
  if (scope.name !== "" || (definition.isNamespaced && scope.namespace === "")) {
    throw statusError.methodNotAllowed(definition, "create");
  }
  const form = negotiateObject(handled);
  const options = parseMutationOptions(scope.query, "CreateOptions");
  const { draft, isLarge } = await readObject(handled, options);
  const { name } = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
  const address = { namespace: scope.namespace, name: typeof name === "string" ? name : "" };
  // The definition of the kind is being deleted.
  if (definition.creationForbidden !== undefined)
    throw statusError.forbidden(definition, address.name, definition.creationForbidden);
  checkAddress(handled, draft, "create");
  const admitted = new HandlerAdmissionRequest(handled, "CREATE", options.isDryRun, { address });
  await dependencies.admission.admit(admitted);
  await dependencies.admission.mutate(admitted, draft, undefined);
  const target = { cluster, namespace: scope.namespace, name: "" };
  let stored: JsonObject = {};
  const written = await storeAdmitted(dependencies, admitted, () =>
    dependencies.registry.create(definition, target, draft, {
      isDryRun: options.isDryRun,
      isLarge,
      user: handled.user,
      validate: (object) => {
        stored = object["metadata"] as JsonObject;
        return dependencies.admission.validate(admitted, object, undefined);
      },
      signal: uncancelled,
      fieldManager: fieldOwner(handled, options, "update"),
      asSent: admitted,
    }),
  );
  handled.recordAuditObject(stored);
  const answered = await finishWrite(written, handled, dependencies);
  return renderWriteResult(201, answered, form, handled, dependencies);
}
