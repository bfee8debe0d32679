/**
 * The conditions of a CustomResourceDefinition: read, set, and Kubernetes' reasons and messages.
 * Pure.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";

export type ConditionType =
  | "NamesAccepted"
  | "Established"
  | "Terminating"
  | "NonStructuralSchema"
  | "KubernetesAPIApprovalPolicyConformant";

export interface DefinitionCondition {
  readonly type: ConditionType;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

const initial = "the initial names have been accepted";

export const installing: DefinitionCondition = {
  type: "Established",
  status: "False",
  reason: "Installing",
  message: initial,
};

export const notAccepted: DefinitionCondition = {
  type: "Established",
  status: "False",
  reason: "NotAccepted",
  message: "not all names are accepted",
};

export const invalidCaBundle: DefinitionCondition = {
  type: "Established",
  status: "False",
  reason: "InvalidCABundle",
  message: "The conversion webhook CABundle is invalid",
};

export const established: DefinitionCondition = {
  type: "Established",
  status: "True",
  reason: "InitialNamesAccepted",
  message: initial,
};

export const deletionPending: DefinitionCondition = {
  type: "Terminating",
  status: "True",
  reason: "InstanceDeletionPending",
  message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
};

export const deletionInProgress: DefinitionCondition = {
  type: "Terminating",
  status: "True",
  reason: "InstanceDeletionInProgress",
  message: "CustomResource deletion is in progress",
};

export const deletionCompleted: DefinitionCondition = {
  type: "Terminating",
  status: "False",
  reason: "InstanceDeletionCompleted",
  message: "removed all instances",
};

export const neverEstablished: DefinitionCondition = {
  type: "Terminating",
  status: "False",
  reason: "NeverEstablished",
  message: "resource was never established",
};

export function conditionsOf(definition: JsonObject): readonly JsonObject[] {
  const { status } = definition;
  if (!isJsonObject(status) || !Array.isArray(status["conditions"])) return [];
  return (status["conditions"] as readonly JsonValue[]).filter(isJsonObject);
}

export function findCondition(definition: JsonObject, type: ConditionType): JsonObject | undefined {
  return conditionsOf(definition).find((condition) => condition["type"] === type);
}

export function isConditionTrue(definition: JsonObject, type: ConditionType): boolean {
  return findCondition(definition, type)?.["status"] === "True";
}

/** The list with the condition; the identical list when it already contains it. */
export function withCondition(
  conditions: readonly JsonObject[],
  { type, status, reason, message }: DefinitionCondition,
  now: string,
): readonly JsonObject[] {
  const old = conditions.find((condition) => condition["type"] === type);
  if (old === undefined)
    return [...conditions, { type, status, lastTransitionTime: now, reason, message }];
  if (old["status"] === status && old["reason"] === reason && old["message"] === message)
    return conditions;
  const lastTransitionTime = old["status"] === status ? (old["lastTransitionTime"] ?? now) : now;
  const changed = { type, status, lastTransitionTime, reason, message };
  return conditions.map((condition) => (condition === old ? changed : condition));
}

export function withoutCondition(
  conditions: readonly JsonObject[],
  type: ConditionType,
): readonly JsonObject[] {
  return conditions.some((condition) => condition["type"] === type)
    ? conditions.filter((condition) => condition["type"] !== type)
    : conditions;
}
