/** PodDisruptionBudgets. */
import type { JsonValue } from "@kcp-ts/machinery/json";
import { podDisruptionBudget } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { mutableMember } from "../../mutable-members.ts";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import type { NativeKind } from "../native-kind.ts";
import { countOrPercentErrors, over100PercentErrors } from "../rules.ts";
import { objectIn, unrestrictedNames } from "../standard.ts";

export const podDisruptionBudgets: NativeKind = {
  group: "policy",
  kind: "PodDisruptionBudget",
  resource: "poddisruptionbudgets",
  shortNames: ["pdb"],
  shape: podDisruptionBudget,
  ...unrestrictedNames,
  setDefaults: (draft) => void mutableMember(draft, "spec"),
  prepareNew(draft) {
    draft["status"] = {
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 0,
      expectedPods: 0,
    };
  },
  validate(object) {
    const spec = objectIn(object, "spec");
    const { minAvailable, maxUnavailable } = spec;
    const errors =
      minAvailable !== undefined && maxUnavailable !== undefined
        ? [fieldError.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")]
        : [];
    for (const member of ["minAvailable", "maxUnavailable"])
      if (spec[member] !== undefined)
        errors.push(
          ...countOrPercentErrors(spec[member], `spec.${member}`),
          ...over100PercentErrors(spec[member], `spec.${member}`),
        );
    return [
      ...errors,
      ...labelSelectorErrors(spec["selector"], "spec.selector"),
      ...evictionPolicyErrors(spec["unhealthyPodEvictionPolicy"]),
    ];
  },
  strategy: { allowsUnconditionalUpdate: false },
};

const evictionPolicies = ["AlwaysAllow", "IfHealthyBudget"];

function evictionPolicyErrors(policy: JsonValue | undefined): FieldError[] {
  if (policy === undefined || evictionPolicies.includes(String(policy))) return [];
  return [fieldError.notSupported("spec.unhealthyPodEvictionPolicy", policy, evictionPolicies)];
}
