/** PriorityClasses and RuntimeClasses. */
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { labelErrors } from "@kcp-ts/machinery/meta";
import { dnsLabelErrors } from "@kcp-ts/machinery/names";
import { priorityClass, runtimeClass } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { tolerationErrors } from "../core/affinity-rules.ts";
import { nodeSelectorWarnings } from "../core/node-label-warnings.ts";
import { resourceErrors } from "../core/resource-rules.ts";
import type { NativeKind } from "../native-kind.ts";
import { fixedMemberErrors, nameErrorsAt, oneOfIfSet } from "../rules.ts";
import { itemErrors, objectIn, textIn } from "../standard.ts";

const highestUserPriority = 1_000_000_000;

export const priorityClasses: NativeKind = {
  group: "scheduling.k8s.io",
  kind: "PriorityClass",
  resource: "priorityclasses",
  shortNames: ["pc"],
  isNamespaced: false,
  hasStatus: false,
  shape: priorityClass,
  setDefaults(draft) {
    draft["preemptionPolicy"] ??= "PreemptLowerPriority";
  },
  validate(object) {
    const name = textIn(objectIn(object, "metadata"), "name");
    const value = Number(object["value"] ?? 0);
    const errors: FieldError[] = [];
    if (name.startsWith("system-"))
      errors.push(
        fieldError.forbidden(
          "metadata.name",
          `priority class names with 'system-' prefix are reserved for system use only. error: ${name} is not a known system priority class`,
        ),
      );
    else if (value > highestUserPriority)
      errors.push(
        fieldError.forbidden(
          "value",
          `maximum allowed value of a user defined priority is ${highestUserPriority}`,
        ),
      );
    return [
      ...errors,
      ...oneOfIfSet(object, "preemptionPolicy", ["PreemptLowerPriority", "Never"], ""),
    ];
  },
  validateUpdate: (updated, old) => [
    ...changed(updated, old, "value", "may not be changed in an update."),
    ...(jsonEqual(updated["preemptionPolicy"] ?? null, old["preemptionPolicy"] ?? null)
      ? []
      : [
          fieldError.invalid(
            "preemptionPolicy",
            updated["preemptionPolicy"] ?? "",
            "field is immutable",
          ),
        ]),
  ],
};

function changed(
  updated: JsonObject,
  old: JsonObject,
  member: string,
  message: string,
): FieldError[] {
  return jsonEqual(updated[member] ?? null, old[member] ?? null)
    ? []
    : [fieldError.forbidden(member, message)];
}

export const runtimeClasses: NativeKind = {
  group: "node.k8s.io",
  kind: "RuntimeClass",
  resource: "runtimeclasses",
  isNamespaced: false,
  hasStatus: false,
  hasGeneration: false,
  shape: runtimeClass,
  validate: runtimeClassErrors,
  objectWarnings: (object) =>
    nodeSelectorWarnings(
      objectIn(object, "scheduling")["nodeSelector"],
      () => "scheduling.nodeSelector",
    ),
  validateUpdate: (updated, old) => fixedMemberErrors(updated, old, "handler"),
  strategy: { allowsUnconditionalUpdate: false, allowsCreateOnUpdate: true },
};

function runtimeClassErrors(object: JsonObject): FieldError[] {
  const handler = textIn(object, "handler");
  const scheduling = objectIn(object, "scheduling");
  const { podFixed } = objectIn(object, "overhead");
  return [
    ...(handler === ""
      ? [fieldError.required("handler")]
      : nameErrorsAt(handler, "handler", dnsLabelErrors)),
    ...(podFixed === undefined ? [] : resourceErrors({ limits: podFixed }, "overhead")),
    ...labelErrors(
      objectIn(scheduling, "nodeSelector") as Record<string, string>,
      "scheduling.nodeSelector",
    ),
    ...uniqueTolerationErrors(scheduling["tolerations"], "scheduling.tolerations"),
  ];
}

function uniqueTolerationErrors(tolerations: JsonValue | undefined, field: string): FieldError[] {
  const seen = new Set<string>();
  return [
    ...tolerationErrors(tolerations, field),
    ...itemErrors<JsonObject>(tolerations, field, (toleration, at) => {
      const key = ["key", "operator", "value", "effect"].map((one) => textIn(toleration, one));
      const text = JSON.stringify(key);
      if (seen.has(text)) return [fieldError.duplicate(at, toleration)];
      seen.add(text);
      return [];
    }),
  ];
}
