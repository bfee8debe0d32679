/** Arrays: their items, their number, and how they are merged. */
import type { Resumable } from "../base/index.ts";
import { itemSchema, type SchemaProps } from "../schema/index.ts";
import type { Findings } from "./findings.ts";
import { intersectCounts } from "./intersect-scalars.ts";
import type { Intersection, MutableSchemaProps } from "./intersection.ts";

export function* intersectArrays(
  draft: MutableSchemaProps,
  next: SchemaProps,
  path: string,
  intersection: Intersection,
): Resumable<void> {
  const { findings } = intersection;
  intersectCounts(draft, next, "minItems", "maxItems", path, findings);
  if (next.uniqueItems && !draft.uniqueItems) {
    draft.uniqueItems = true;
    findings.narrower(path, "items must differ now");
  }
  meetTopologies(draft, next, path, findings);
  const [was, is] = [itemSchema(draft), itemSchema(next)];
  if (was !== undefined && is !== undefined)
    draft.items = yield* intersection.intersect(was, is, `${path}[]`);
  else if (is !== undefined || was !== undefined) {
    if (draft.type === "array") findings.unknown(path, "items are described on one side only");
  }
}

/** Two clusters that merge a list differently would have different results of one apply. */
function meetTopologies(
  draft: MutableSchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
): void {
  const [was, is] = [draft.listType ?? "atomic", next.listType ?? "atomic"];
  if (was !== is) {
    findings.incompatible(path, `x-kubernetes-list-type changed (was ${was}, now ${is})`);
    return;
  }
  const keys = (schema: SchemaProps) => schema.listMapKeys.toSorted().join(", ");
  if (keys(draft) !== keys(next))
    findings.incompatible(
      path,
      `x-kubernetes-list-map-keys changed (was [${keys(draft)}], now [${keys(next)}])`,
    );
}
