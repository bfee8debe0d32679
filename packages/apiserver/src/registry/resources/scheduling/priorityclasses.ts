/** PriorityClasses and RuntimeClasses. */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { priorityClass, runtimeClass } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { setDefault } from "../../mutable-members.ts";
import type { NativeKind } from "../native-kind.ts";
import { oneOfIfSet } from "../rules.ts";
import { objectIn, textIn } from "../standard.ts";

const highestUserPriority = 1_000_000_000;

export const priorityClasses: NativeKind = {
  group: "scheduling.k8s.io",
  kind: "PriorityClass",
  resource: "priorityclasses",
  shortNames: ["pc"],
  isNamespaced: false,
  hasStatus: false,
  shape: priorityClass,
  setDefaults: (draft) => setDefault(draft, "preemptionPolicy", "PreemptLowerPriority"),
  validate(object) {
    const name = textIn(objectIn(object, "metadata"), "name");
    const value = Number(object["value"] ?? 0);
    const errors: FieldError[] = [];
    if (name.startsWith("system-"))
      errors.push(
        fieldError.forbidden(
          "metadata.name",
          "priority class names with 'system-' prefix are reserved for system use only. error: ".trim(),
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
  validateUpdate: (updated, old) =>
    jsonEqual(updated["handler"] ?? null, old["handler"] ?? null)
      ? []
      : [fieldError.invalid("handler", updated["handler"] ?? "", "field is immutable")],
  strategy: { allowsUnconditionalUpdate: false, allowsCreateOnUpdate: true },
};
