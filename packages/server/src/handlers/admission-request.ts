import { isJsonObject } from "@kcp-ts/machinery/json";
import type { AdmissionRequest, Operation } from "../admission/index.ts";
import type { Draft, Validator } from "../registry/index.ts";
import { type HandlerRequest, type HandlerRooms, oneCluster } from "./context.ts";

export function admissionRequest(
  handled: HandlerRequest,
  operation: Operation,
  isDryRun: boolean,
  draft?: Draft,
): AdmissionRequest {
  const { scope, definition, user, signal } = handled;
  const metadata = draft !== undefined && isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
  return {
    operation,
    cluster: oneCluster(scope),
    group: definition.group,
    version: definition.version,
    resource: definition.resource,
    kind: definition.kind,
    subresource: scope.subresource,
    namespace: definition.isNamespaced ? scope.namespace : "",
    name: scope.name || (typeof metadata["name"] === "string" ? metadata["name"] : ""),
    user,
    isDryRun,
    signal,
  };
}

/** Admission's last word, as the registry wants it. */
export function validatorFor({ admission }: HandlerRooms, request: AdmissionRequest): Validator {
  return (object, old) => admission.validate(request, object, old);
}
