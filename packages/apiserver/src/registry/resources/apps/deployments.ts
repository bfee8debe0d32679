/** Deployments and ReplicaSets. */
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { deployment, replicaSet } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { mutableMember, setDefault } from "../../mutable-members.ts";
import type { Draft } from "../../strategy.ts";
import { setTemplateDefaults } from "../core/pod-defaults.ts";
import { ownTemplateWarnings } from "../core/pod-warnings.ts";
import type { NativeKind } from "../native-kind.ts";
import {
  countOrPercent,
  countOrPercentErrors,
  immutableErrors,
  negativeErrors,
  over100PercentErrors,
} from "../rules.ts";
import { replicasIn, scaleEndpoint } from "../scale.ts";
import { objectIn, textIn } from "../standard.ts";
import { replicaStatusErrors } from "./replica-status-rules.ts";
import { selectedTemplateErrors } from "./selector-rules.ts";

const templateOwner = {
  name: "deployment",
  deadlineName: "ReplicaSet",
  malformed: "invalid label selector",
};

export const deployments: NativeKind = {
  group: "apps",
  kind: "Deployment",
  resource: "deployments",
  shortNames: ["deploy"],
  categories: ["all"],
  shape: deployment,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setDefault(spec, "replicas", 1);
    setDefault(spec, "revisionHistoryLimit", 10);
    setDefault(spec, "progressDeadlineSeconds", 600);
    const strategy = mutableMember(spec, "strategy");
    setDefault(strategy, "type", "RollingUpdate");
    if (strategy["type"] === "RollingUpdate") {
      const rolling = mutableMember(strategy, "rollingUpdate");
      rolling["maxUnavailable"] ??= "25%";
      rolling["maxSurge"] ??= "25%";
    }
    setTemplateDefaults(spec);
  },
  validate(object) {
    const spec = objectIn(object, "spec");
    return [
      ...negativeErrors(spec, ["replicas"], "spec"),
      ...selectedTemplateErrors(spec, templateOwner),
      ...strategyErrors(spec),
      ...negativeErrors(spec, ["minReadySeconds", "revisionHistoryLimit"], "spec"),
      ...progressErrors(spec),
    ];
  },
  objectWarnings: (object, old) => ownTemplateWarnings(object, old, { isNamePart: true }),
  validateUpdate: (updated, old) => immutableErrors(updated, old, "selector"),
  prepareUpdated: countAnnotations,
  validateStatus: (updated) =>
    replicaStatusErrors(
      objectIn(updated, "status"),
      ["updatedReplicas", "readyReplicas", "availableReplicas"],
      { readyField: "readyReplicas", others: ["unavailableReplicas", "terminatingReplicas"] },
    ),
  restoreStatusMetadata: restoreLabels,
  subresources: [["scale", scaleEndpoint]],
};

/**
 * Annotations of a Deployment go to its ReplicaSets, so that a change of them counts. Those of
 * kcp.io are records of control loops about the object: a controller that writes one for each
 * generation would never end.
 */
function countAnnotations(draft: Draft, old: JsonObject): void {
  const isSpecSame = jsonEqual(objectIn(draft, "spec"), objectIn(old, "spec"));
  // A change of the spec is counted for all kinds alike.
  if (!isSpecSame || jsonEqual(ownAnnotations(draft), ownAnnotations(old))) return;
  const metadata = mutableMember(draft, "metadata");
  metadata["generation"] = Number(metadata["generation"] ?? 0) + 1;
}

function ownAnnotations(object: JsonObject): JsonObject {
  const all = Object.entries(objectIn(objectIn(object, "metadata"), "annotations"));
  return Object.fromEntries(all.filter(([name]) => !/^([^/]*\.)?kcp\.io\//.test(name)));
}

function restoreLabels(metadata: Draft, old: JsonObject): void {
  const { labels } = old["metadata"] as JsonObject;
  if (labels === undefined) delete metadata["labels"];
  else metadata["labels"] = labels;
}

function progressErrors(spec: JsonObject): FieldError[] {
  const seconds = spec["progressDeadlineSeconds"];
  const errors = negativeErrors(spec, ["progressDeadlineSeconds"], "spec");
  if (seconds !== undefined && Number(seconds) <= Number(spec["minReadySeconds"] ?? 0))
    errors.push(
      fieldError.invalid(
        "spec.progressDeadlineSeconds",
        seconds,
        "must be greater than minReadySeconds",
      ),
    );
  return errors;
}

function strategyErrors(spec: JsonObject): FieldError[] {
  const strategy = objectIn(spec, "strategy");
  switch (textIn(strategy, "type")) {
    case "Recreate":
      return strategy["rollingUpdate"] === undefined
        ? []
        : [
            fieldError.forbidden(
              "spec.strategy.rollingUpdate",
              "may not be specified when strategy `type` is 'Recreate'",
            ),
          ];
    case "RollingUpdate":
      return rollingErrors(objectIn(strategy, "rollingUpdate"), "spec.strategy.rollingUpdate");
    default:
      return [
        fieldError.notSupported("spec.strategy", goStrategy(strategy), [
          "Recreate",
          "RollingUpdate",
        ]),
      ];
  }
}

/** A strategy as Kubernetes' messages show it. */
export function goStrategy(strategy: JsonObject): JsonObject {
  const rolling = strategy["rollingUpdate"];
  const shown = isJsonObject(rolling)
    ? Object.fromEntries(
        Object.entries(rolling).map(([name, value]) => [
          `${name[0]?.toUpperCase()}${name.slice(1)}`,
          value as JsonValue,
        ]),
      )
    : null;
  return { Type: textIn(strategy, "type"), RollingUpdate: shown };
}

function rollingErrors(rolling: JsonObject, field: string): FieldError[] {
  const { maxUnavailable, maxSurge } = rolling;
  const errors = [
    ...countOrPercentErrors(maxUnavailable, `${field}.maxUnavailable`),
    ...countOrPercentErrors(maxSurge, `${field}.maxSurge`),
  ];
  if (countOrPercent(maxUnavailable) === 0 && countOrPercent(maxSurge) === 0)
    errors.push(
      fieldError.invalid(
        `${field}.maxUnavailable`,
        maxUnavailable ?? 0,
        "may not be 0 when `maxSurge` is 0",
      ),
    );
  return [...errors, ...over100PercentErrors(maxUnavailable, `${field}.maxUnavailable`)];
}

export const replicaSets: NativeKind = {
  group: "apps",
  kind: "ReplicaSet",
  resource: "replicasets",
  shortNames: ["rs"],
  categories: ["all"],
  shape: replicaSet,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setDefault(spec, "replicas", 1);
    setTemplateDefaults(spec);
  },
  prepareNew(draft) {
    draft["status"] = { replicas: 0 };
  },
  validate(object) {
    const spec = objectIn(object, "spec");
    return [
      ...negativeErrors(spec, ["replicas", "minReadySeconds"], "spec"),
      ...selectedTemplateErrors(spec, templateOwner),
    ];
  },
  objectWarnings: (object, old) => ownTemplateWarnings(object, old, { isNamePart: true }),
  validateUpdate: (updated, old) => immutableErrors(updated, old, "selector"),
  validateStatus: (updated) =>
    replicaStatusErrors(
      objectIn(updated, "status"),
      ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
      { readyField: "readyReplicas", others: ["terminatingReplicas"] },
    ),
  subresources: [["scale", scaleEndpoint]],
  strategy: {
    selectableFields: new Map([
      ["status.replicas", (object: JsonObject) => String(replicasIn(objectIn(object, "status")))],
    ]),
  },
};
