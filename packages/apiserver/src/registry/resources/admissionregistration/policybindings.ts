/** Bindings of admission policies, which put the policies in force. */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import {
  mutatingAdmissionPolicyBinding,
  validatingAdmissionPolicyBinding,
} from "@kcp-ts/machinery/shape";
import type { Draft } from "../../strategy.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  builtIn,
  column,
  nameCell,
  nameColumn,
  namespacedNames,
  objectIn,
  startGeneration,
  textIn,
} from "../standard.ts";
import { mutatingBindingErrors, validatingBindingErrors } from "./binding-rules.ts";
import { fillMatch } from "./policies.ts";

const shared = {
  ...baseStrategy,
  ...namespacedNames,
  prepareForCreate(draft: Draft) {
    fillBinding(draft);
    startGeneration(draft);
  },
  prepareForUpdate: fillBinding,
  columns: [
    nameColumn,
    column("PolicyName", "string", "The policy that is put in force."),
    column("ParamRef", "string", "Its parameters."),
    ageColumn,
  ],
  cells: (object: JsonObject, nowMs: number) => [
    nameCell(object),
    textIn(objectIn(object, "spec"), "policyName"),
    paramText(objectIn(object, "spec")["paramRef"]),
    ageCell(object, nowMs),
  ],
} as const;

export const validatingAdmissionPolicyBindings = builtIn({
  group: "admissionregistration.k8s.io",
  resource: "validatingadmissionpolicybindings",
  singular: "validatingadmissionpolicybinding",
  kind: "ValidatingAdmissionPolicyBinding",
  isNamespaced: false,
  categories: ["api-extensions"],
  waitsForOwnWrite: true,
  strategy: {
    ...shared,
    shape: validatingAdmissionPolicyBinding,
    validate: validatingBindingErrors,
    validateUpdate: validatingBindingErrors,
  },
});

export const mutatingAdmissionPolicyBindings = builtIn({
  group: "admissionregistration.k8s.io",
  resource: "mutatingadmissionpolicybindings",
  singular: "mutatingadmissionpolicybinding",
  kind: "MutatingAdmissionPolicyBinding",
  isNamespaced: false,
  categories: ["api-extensions"],
  waitsForOwnWrite: true,
  strategy: {
    ...shared,
    shape: mutatingAdmissionPolicyBinding,
    validate: mutatingBindingErrors,
    validateUpdate: mutatingBindingErrors,
  },
});

function fillBinding(draft: Draft): void {
  const spec = objectIn(draft, "spec");
  const match = spec["matchResources"];
  draft["spec"] = match === undefined ? spec : { ...spec, matchResources: fillMatch(match) };
}

function paramText(paramRef: JsonValue | undefined): string {
  if (!isJsonObject(paramRef)) return "<unset>";
  const name = textIn(paramRef, "name");
  if (name !== "") return `${textIn(paramRef, "namespace") || "*"}/${name}`;
  return paramRef["selector"] === undefined ? "<unset>" : stringifyJson(paramRef["selector"]);
}
