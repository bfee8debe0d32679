/** POST decodes, admits and stores a new object. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { ApiResponse } from "../request/api-request.ts";
import {
  addressOf,
  admissionRequest,
  storeAdmitted,
  validatingAdmission,
} from "./admission-request.ts";
import { checkAddress, checkCreationAllowed, readObject } from "./decode-object.ts";
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
  checkCreationAllowed(definition, draft);
  checkAddress(handled, draft, "create");
  const address = addressOf(handled, draft);
  const admitted = admissionRequest(handled, "CREATE", options.isDryRun, { address });
  const admission = dependencies.admission.admit(admitted);
  if (admission !== undefined) await admission;
  const mutation = dependencies.admission.mutate(admitted, draft, undefined);
  if (mutation !== undefined) await mutation;
  const target = { cluster, namespace: scope.namespace, name: "" };
  const validate = validatingAdmission(dependencies, admitted);
  let stored: JsonObject = {};
  const written = await storeAdmitted(dependencies, admitted, () =>
    dependencies.registry.create(definition, target, draft, {
      isDryRun: options.isDryRun,
      isLarge,
      user: handled.user,
      validate: (object, old) => {
        stored = object["metadata"] as JsonObject;
        return validate(object, old);
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
