/** Leases: the holder of a leadership, and the duration until it must renew it. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { lease } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
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
  textIn,
} from "../standard.ts";

export const leases = builtIn({
  group: "coordination.k8s.io",
  resource: "leases",
  singular: "lease",
  kind: "Lease",
  isNamespaced: true,
  strategy: {
    ...baseStrategy,
    ...namespacedNames,
    ownsOnlySentFields: true,
    shape: lease,
    allowsCreateOnUpdate: true,
    prepareForCreate: (draft) => dropCoordination(draft, {}),
    prepareForUpdate: dropCoordination,
    validate: specErrors,
    validateUpdate: specErrors,
    columns: [nameColumn, column("Holder", "string", "Who holds it."), ageColumn],
    cells: (object, nowMs) => [
      nameCell(object),
      textIn(objectIn(object, "spec"), "holderIdentity"),
      ageCell(object, nowMs),
    ],
  },
});

/**
 * Coordinated leader election is off by default upstream: its fields are dropped unless they are
 * stored already.
 */
function dropCoordination(draft: Draft, old: JsonObject): void {
  const before = objectIn(old, "spec");
  const spec: Draft = { ...objectIn(draft, "spec") };
  for (const field of ["strategy", "preferredHolder"])
    if (before[field] === undefined) delete spec[field];
  draft["spec"] = spec;
}

function specErrors(object: JsonObject): FieldError[] {
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = objectIn(object, "spec");
  const errors: FieldError[] = [];
  if (seconds !== undefined && Number(seconds) <= 0) {
    errors.push(fieldError.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
  }
  if (transitions !== undefined && Number(transitions) < 0) {
    errors.push(
      fieldError.invalid(
        "spec.leaseTransitions",
        transitions,
        "must be greater than or equal to 0",
      ),
    );
  }
  return errors;
}
