/** Computes the next status of a definition. Pure; returns no change when the status is final. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  approvalAnnotation,
  type CrdNames,
  isCaBundle,
  readCustomResourceDefinition,
} from "@kcp-ts/machinery/schema";
import { quote } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../registry/index.ts";
import { acceptNames, takenNames } from "./accept-names.ts";
import {
  conditionsOf,
  type DefinitionCondition,
  established,
  findCondition,
  installing,
  invalidCaBundle,
  isConditionTrue,
  notAccepted,
  withCondition,
  withoutCondition,
} from "./conditions.ts";
import type { ClusterDefinitions } from "./definition-index.ts";

export function nextStatus(
  object: JsonObject,
  definitions: ClusterDefinitions,
  builtIns: readonly ResourceDefinition[],
  now: string,
): JsonObject {
  const { name, spec, status, annotations } = readCustomResourceDefinition(object).definition;
  const others: CrdNames[] = builtIns
    .filter(({ group }) => group === spec.group)
    .map(({ resource, ...rest }) => ({ ...rest, plural: resource }));
  for (const [other, { shared }] of definitions.records)
    if (other !== name && shared.group === spec.group) others.push(shared.names);
  const wasAccepted = isConditionTrue(object, "NamesAccepted");
  const { names, condition } = acceptNames(spec.names, status.acceptedNames, takenNames(others));
  let conditions = withCondition(conditionsOf(object), condition, now);
  const before = findCondition(object, "Established");
  if (before?.["status"] !== "True") {
    const { caBundle = "" } = spec.conversion?.clientConfig ?? {};
    const next =
      condition.status !== "True"
        ? notAccepted
        : caBundle !== "" && !isCaBundle(caBundle)
          ? invalidCaBundle
          : wasAccepted
            ? established
            : installing;
    conditions = withCondition(conditions, next, now);
  }
  const approval = approvalCondition(spec.group, annotations.get(approvalAnnotation));
  conditions =
    approval === undefined
      ? withoutCondition(conditions, "KubernetesAPIApprovalPolicyConformant")
      : withCondition(conditions, approval, now);
  const old = isJsonObject(object["status"]) ? object["status"] : {};
  return {
    ...old,
    conditions: conditions as readonly JsonValue[],
    acceptedNames: namesJson(names),
  };
}

/** Absent and empty fields are omitted, as in a spec. */
function namesJson({
  plural,
  singular,
  shortNames,
  kind,
  listKind,
  categories,
}: CrdNames): JsonObject {
  return {
    plural,
    ...(singular === "" ? {} : { singular }),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    kind,
    ...(listKind === "" ? {} : { listKind }),
    ...(categories.length === 0 ? {} : { categories }),
  };
}

/** Groups of the Kubernetes community require an approval of the API. */
function approvalCondition(
  group: string,
  annotation: string | undefined,
): DefinitionCondition | undefined {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return undefined;
  const type = "KubernetesAPIApprovalPolicyConformant";
  if (annotation === undefined || annotation === "") {
    const message = `protected groups must have approval annotation ${quote(approvalAnnotation)}, see https://github.com/kubernetes/enhancements/pull/1111`;
    return { type, status: "False", reason: "MissingAnnotation", message };
  }
  if (annotation.startsWith("unapproved")) {
    const message = `not approved: ${quote(annotation)}`;
    return { type, status: "False", reason: "UnapprovedAnnotation", message };
  }
  return {
    type,
    status: "True",
    reason: "ApprovedAnnotation",
    message: `approved in ${annotation}`,
  };
}
