/** PodDisruptionBudgets. */
import { labelSelectorErrors, objectIn, type ResourceDefinition } from "@kcp-ts/apiserver/kinds";
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
  });
}
