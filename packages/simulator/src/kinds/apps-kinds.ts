/** Deployments and ReplicaSets. */
import {
  type Draft,
  labelSelectorErrors,
  listIn,
  mutableMember,
  objectIn,
  type ResourceDefinition,
  setDefault,
  textIn,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { deployment, replicaSet } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { replicasIn } from "./drafts.ts";
import { defineKind } from "./kind.ts";
import { setTemplateDefaults } from "./pod-defaults.ts";
import { negative, podSpecErrors } from "./pod-errors.ts";
import { scaleEndpoint } from "./scale.ts";
import { immutableErrors, templateSelectorErrors } from "./selectors.ts";

/** The validation that all kinds with a Pod template share. */
export function templateErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const template = objectIn(objectIn(spec, "template"), "spec");
  const errors = [
    ...countErrors(spec, ["replicas", "minReadySeconds"]),
    ...templateSelectorErrors(spec),
    ...podSpecErrors(template, "spec.template.spec", claimNames(spec)),
  ];
  const policy = textIn(template, "restartPolicy");
  if (policy !== "Always" && policy !== "")
    errors.push(fieldError.notSupported("spec.template.spec.restartPolicy", policy, ["Always"]));
  return errors;
}

function claimNames(spec: JsonObject): string[] {
  return (listIn(spec["volumeClaimTemplates"]) as readonly JsonObject[]).map((claim) =>
    textIn(objectIn(claim, "metadata"), "name"),
  );
}

export function countErrors(spec: JsonObject, members: readonly string[]): FieldError[] {
  return members.flatMap((member) => {
    const count = Number(spec[member] ?? 0);
    return count < 0 ? [fieldError.invalid(`spec.${member}`, count, negative)] : [];
  });
}

export function deploymentsKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "apps",
    kind: "Deployment",
    resource: "deployments",
    shortNames: ["deploy"],
    categories: ["all"],
    shape: inGeneration(deployment, generation),
    setDefaults: setDeploymentDefaults,
    validate: (object) => [...templateErrors(object), ...strategyErrors(objectIn(object, "spec"))],
    validateUpdate: (updated, old) => immutableErrors(updated, old, "selector"),
    subresources: [["scale", scaleEndpoint]],
  });
}

function setDeploymentDefaults(draft: Draft): void {
  const spec = mutableMember(draft, "spec");
  setDefault(spec, "replicas", 1);
  setDefault(spec, "revisionHistoryLimit", 10);
  setDefault(spec, "progressDeadlineSeconds", 600);
  const strategy = mutableMember(spec, "strategy");
  setDefault(strategy, "type", "RollingUpdate");
  if (strategy["type"] === "RollingUpdate") {
    const rolling = mutableMember(strategy, "rollingUpdate");
    setDefault(rolling, "maxUnavailable", "25%");
    setDefault(rolling, "maxSurge", "25%");
  }
  setTemplateDefaults(spec);
}

function strategyErrors(spec: JsonObject): FieldError[] {
  const strategy = objectIn(spec, "strategy");
  const rolling = strategy["rollingUpdate"];
  switch (textIn(strategy, "type")) {
    case "Recreate":
      return rolling === undefined
        ? []
        : [
            fieldError.forbidden(
              "spec.strategy.rollingUpdate",
              "may not be specified when strategy `type` is 'Recreate'",
            ),
          ];
    case "RollingUpdate":
      return rollingErrors(objectIn(strategy, "rollingUpdate"));
    default:
      return [
        fieldError.notSupported("spec.strategy.type", textIn(strategy, "type"), [
          "Recreate",
          "RollingUpdate",
        ]),
      ];
  }
}

function rollingErrors(rolling: JsonObject): FieldError[] {
  const field = "spec.strategy.rollingUpdate";
  const errors = ["maxUnavailable", "maxSurge"].flatMap((member) =>
    amountErrors(rolling[member], `${field}.${member}`),
  );
  const isZero = (value: JsonValue | undefined) => value === 0 || value === "0%";
  if (errors.length === 0 && isZero(rolling["maxUnavailable"]) && isZero(rolling["maxSurge"]))
    errors.push(
      fieldError.invalid(
        `${field}.maxUnavailable`,
        rolling["maxUnavailable"] ?? 0,
        "may not be 0 when `maxSurge` is 0",
      ),
    );
  return errors;
}

function amountErrors(value: JsonValue | undefined, field: string): FieldError[] {
  if (typeof value === "number")
    return value < 0 ? [fieldError.invalid(field, value, negative)] : [];
  if (typeof value !== "string" || /^\d+%$/.test(value)) return [];
  return [
    fieldError.invalid(
      field,
      value,
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%', or '93%', regex used for validation is '[0-9]+%')",
    ),
  ];
}

export function replicaSetsKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "apps",
    kind: "ReplicaSet",
    resource: "replicasets",
    shortNames: ["rs"],
    categories: ["all"],
    shape: inGeneration(replicaSet, generation),
    setDefaults(draft) {
      const spec = mutableMember(draft, "spec");
      setDefault(spec, "replicas", 1);
      setTemplateDefaults(spec);
    },
    validate: templateErrors,
    validateUpdate: (updated, old) => [
      ...immutableErrors(updated, old, "selector"),
      ...labelSelectorErrors(objectIn(updated, "spec")["selector"], "spec.selector"),
    ],
    subresources: [["scale", scaleEndpoint]],
    strategy: {
      selectableFields: new Map([
        ["status.replicas", (object: JsonObject) => String(replicasIn(objectIn(object, "status")))],
      ]),
    },
  });
}
