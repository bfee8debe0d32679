/** PodDisruptionBudgets. */
import {
  ageCell,
  ageColumn,
  column,
  labelSelectorErrors,
  nameCell,
  nameColumn,
  objectIn,
  type ResourceDefinition,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { podDisruptionBudget } from "@kcp-ts/machinery/shape";
import { fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { defineKind } from "./kind.ts";

export function disruptionBudgetsKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "policy",
    kind: "PodDisruptionBudget",
    resource: "poddisruptionbudgets",
    shortNames: ["pdb"],
    shape: inGeneration(podDisruptionBudget, generation),
    validate(object) {
      const spec = objectIn(object, "spec");
      const errors = labelSelectorErrors(spec["selector"], "spec.selector");
      if (spec["minAvailable"] !== undefined && spec["maxUnavailable"] !== undefined)
        errors.push(
          fieldError.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"),
        );
      return errors;
    },
    columns: [
      nameColumn,
      column("Min Available", "string", "So many must be left."),
      column("Max Unavailable", "string", "So many may be missing."),
      column("Allowed Disruptions", "integer", "So many may go now."),
      ageColumn,
    ],
    cells(object, nowMs) {
      const shown = (spec: JsonObject, member: string) => String(spec[member] ?? "N/A");
      const spec = objectIn(object, "spec");
      return [
        nameCell(object),
        shown(spec, "minAvailable"),
        shown(spec, "maxUnavailable"),
        Number(objectIn(object, "status")["disruptionsAllowed"] ?? 0),
        ageCell(object, nowMs),
      ];
    },
  });
}
