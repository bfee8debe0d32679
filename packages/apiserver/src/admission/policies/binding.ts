/**
 * A binding: the resources that a policy applies to, its parameters, and the actions on a
 * violation.
 */
import { isJsonObject, type JsonObject, type JsonValue, textsOf } from "@kcp-ts/machinery/json";
import type { LabelSelector } from "@kcp-ts/machinery/selectors";
import { type MatchCriteria, readMatchCriteria, readSelector } from "../matching/criteria.ts";

export interface Binding {
  readonly policyName: string;
  /** Undefined matches every request that the policy matches. */
  readonly criteria: MatchCriteria | undefined;
  readonly paramRef: ParamRef | undefined;
  /** Deny, Warn, Audit; empty for mutating policies. */
  readonly actions: readonly string[];
}

export interface ParamRef {
  readonly name: string;
  readonly namespace: string;
  readonly selector: LabelSelector | undefined;
  readonly isDeniedWithout: boolean;
}

export function readBinding(object: JsonObject): Binding {
  const spec = isJsonObject(object["spec"]) ? object["spec"] : {};
  const { matchResources } = spec;
  return {
    policyName: String(spec["policyName"] ?? ""),
    criteria: isJsonObject(matchResources)
      ? readMatchCriteria(matchResources, "resourceRules")
      : undefined,
    paramRef: readParamRef(spec["paramRef"]),
    actions: textsOf(spec["validationActions"]),
  };
}

function readParamRef(value: JsonValue | undefined): ParamRef | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name = "", namespace = "", selector, parameterNotFoundAction } = value;
  return {
    name: String(name),
    namespace: String(namespace),
    selector: selector === undefined ? undefined : readSelector(selector),
    isDeniedWithout: parameterNotFoundAction === "Deny",
  };
}
