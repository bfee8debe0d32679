/**
 * The spec diff: an annotation with a JSON patch of `.spec` for one cluster alone. It changes what
 * the cluster runs, so that the limits of the cluster hold for the patched spec.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  bounds,
  isBoundExceeded,
  parseBoundedResumable,
  workBounds,
} from "@kcp-ts/machinery/bounds";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
} from "@kcp-ts/machinery/json";
import {
  applyJsonPatchResumable,
  JsonPatchBudget,
  PatchError,
  readJsonPatch,
} from "@kcp-ts/machinery/patch";
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { hashDigits } from "./hash-digits.ts";
import { specDiffAnnotation } from "./names.ts";

export function specDiffOf(annotations: StringMap | undefined, target: string): string | undefined {
  return stringMember(annotations, specDiffAnnotation(target));
}

/** The hash of a spec diff, to record which diff a cluster has applied, or may apply. */
export function diffHash(diff: string): string {
  return hashDigits(diff, 16);
}

/**
 * Throws a PatchError for a diff that is no JSON patch, or leaves no spec. A workload may have as
 * many diffs as clusters, with thousands of operations each.
 */
export function* withSpecDiff(spec: JsonObject, diff: string): Resumable<JsonObject> {
  const patch = readJsonPatch({ value: yield* parsed(diff), duplicates: [] });
  const budget = new JsonPatchBudget({ shiftedItemsMax: workBounds.overrides.unitsMax });
  const patched = yield* applyJsonPatchResumable(spec, patch, budget);
  if (isJsonObject(patched)) return patched;
  throw new PatchError("not-applicable", "the patched spec is not an object");
}

function* parsed(diff: string): Resumable<JsonValue> {
  try {
    return (yield* parseBoundedResumable(bounds.embeddedText, diff)).value;
  } catch (error) {
    if (error instanceof JsonSyntaxError || isBoundExceeded(error))
      throw new PatchError("malformed", error.message);
    throw error;
  }
}
