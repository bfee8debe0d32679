/** The rules of statuses that count replicas. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { negativeErrors } from "../rules.ts";

/** No count is negative, and none of `counted` exceeds the replicas. */
export function replicaStatusErrors(
  status: JsonObject,
  counted: readonly string[],
  {
    readyField,
    others = [],
  }: { readonly readyField?: string; readonly others?: readonly string[] } = {},
): FieldError[] {
  const count = (member: string) => Number(status[member] ?? 0);
  const errors = negativeErrors(
    status,
    ["observedGeneration", "replicas", ...counted, ...others, "collisionCount"],
    "status",
  );
  for (const member of counted)
    if (count(member) > count("replicas"))
      errors.push(
        fieldError.invalid(
          `status.${member}`,
          count(member),
          "cannot be greater than status.replicas",
        ),
      );
  if (readyField !== undefined && count("availableReplicas") > count(readyField))
    errors.push(
      fieldError.invalid(
        "status.availableReplicas",
        count("availableReplicas"),
        `cannot be greater than ${readyField}`,
      ),
    );
  return errors;
}
