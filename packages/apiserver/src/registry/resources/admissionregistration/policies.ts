/** Validating and mutating admission policies. */
import { resetFieldsOf } from "@kcp-ts/machinery/apply";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { mutatingAdmissionPolicy, validatingAdmissionPolicy } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { Draft, SubresourceStrategy } from "../../strategy.ts";
import { conditionErrors } from "../condition-errors.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  builtIn,
  column,
  itemErrors,
  listIn,
  nameCell,
  nameColumn,
  namespacedNames,
  objectIn,
  restoreMembers,
  startGeneration,
  textIn,
} from "../standard.ts";
import { mutatingPolicyErrors, validatingPolicyErrors } from "./policy-rules.ts";
import { fillRules } from "./webhook-rules.ts";

/** The type checker writes its warnings here; metadata stays unchanged. */
const statusEndpoint: SubresourceStrategy = {
  verbs: ["get", "patch", "update"],
  resetFields: resetFieldsOf(["spec"], ["metadata"]),
  prepareForUpdate(draft, old) {
    restoreMembers(draft, old, "spec");
    restoreMetadata(draft, old);
  },
  validateUpdate: (updated) => statusErrors(objectIn(updated, "status")),
};

export const validatingAdmissionPolicies = builtIn({
  group: "admissionregistration.k8s.io",
  resource: "validatingadmissionpolicies",
  singular: "validatingadmissionpolicy",
  kind: "ValidatingAdmissionPolicy",
  isNamespaced: false,
  categories: ["api-extensions"],
  waitsForOwnWrite: true,
  subresources: new Map([["status", statusEndpoint]]),
  strategy: {
    ...baseStrategy,
    ...namespacedNames,
    shape: validatingAdmissionPolicy,
    prepareForCreate(draft) {
      fillPolicy(draft);
      draft["status"] = {};
      startGeneration(draft);
    },
    prepareForUpdate(draft, old) {
      fillPolicy(draft);
      restoreMembers(draft, old, "status");
    },
    validate: validatingPolicyErrors,
    validateUpdate: validatingPolicyErrors,
    columns: policyColumns("Validations"),
    cells: policyCells("validations"),
  },
});

export const mutatingAdmissionPolicies = builtIn({
  group: "admissionregistration.k8s.io",
  resource: "mutatingadmissionpolicies",
  singular: "mutatingadmissionpolicy",
  kind: "MutatingAdmissionPolicy",
  isNamespaced: false,
  categories: ["api-extensions"],
  waitsForOwnWrite: true,
  strategy: {
    ...baseStrategy,
    ...namespacedNames,
    shape: mutatingAdmissionPolicy,
    prepareForCreate(draft) {
      fillPolicy(draft);
      startGeneration(draft);
    },
    prepareForUpdate: fillPolicy,
    validate: mutatingPolicyErrors,
    validateUpdate: mutatingPolicyErrors,
    columns: policyColumns("Mutations"),
    cells: policyCells("mutations"),
  },
});

function restoreMetadata(draft: Draft, old: JsonObject): void {
  const before = old["metadata"] as JsonObject;
  const metadata = draft["metadata"] as Draft;
  for (const field of ["labels", "annotations", "finalizers", "ownerReferences"]) {
    const value = before[field];
    if (value === undefined) delete metadata[field];
    else metadata[field] = value;
  }
}

function fillPolicy(draft: Draft): void {
  const spec = objectIn(draft, "spec");
  const match = spec["matchConstraints"];
  draft["spec"] = {
    failurePolicy: "Fail",
    ...spec,
    ...(match === undefined ? {} : { matchConstraints: fillMatch(match) }),
  };
}

/** Also used for bindings, whose matchResources have the same defaults. */
export function fillMatch(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const filled: Draft = {
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
    ...value,
  };
  for (const rules of ["resourceRules", "excludeResourceRules"])
    if (value[rules] !== undefined) filled[rules] = fillRules(value[rules]);
  return filled;
}

function statusErrors(status: JsonObject): FieldError[] {
  const { expressionWarnings } = objectIn(status, "typeChecking");
  const warnings = itemErrors<JsonObject>(
    expressionWarnings,
    "status.typeChecking.expressionWarnings",
    (warning, field) =>
      ["warning", "fieldRef"]
        .filter((member) => textIn(warning, member).trim() === "")
        .map((member) => fieldError.required(`${field}.${member}`)),
  );
  return [...warnings, ...conditionErrors(status["conditions"], "status.conditions")];
}

function policyColumns(what: string) {
  return [
    nameColumn,
    column(what, "integer", "How many there are."),
    column("ParamKind", "string", "The kind of its parameters."),
    ageColumn,
  ];
}

function policyCells(list: string) {
  return (object: JsonObject, nowMs: number): JsonValue[] => {
    const spec = objectIn(object, "spec");
    const { paramKind } = spec;
    return [
      nameCell(object),
      listIn(spec[list]).length,
      isJsonObject(paramKind)
        ? `${textIn(paramKind, "apiVersion")}/${textIn(paramKind, "kind")}`
        : "<unset>",
      ageCell(object, nowMs),
    ];
  };
}
