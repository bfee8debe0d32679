/** The schema of `status.conditions`, as `setCondition` writes them. */
import { int32, keyedBy, list, object, type Schema, string, time } from "@kcp-ts/machinery/schema";
import type { Condition } from "../controller/index.ts";

export function conditions(): Schema<readonly Condition[]> {
  return list(
    object(
      {
        type: string("What the condition is about."),
        status: string("True, False or Unknown.", { enum: ["True", "False", "Unknown"] }),
        reason: string("One word for programs."),
        message: string("A sentence for people."),
        lastTransitionTime: time(),
        observedGeneration: int32("The generation of the object that this is about."),
      },
      { required: ["type", "status", "reason", "message", "lastTransitionTime"] },
    ),
    keyedBy("type"),
  );
}
