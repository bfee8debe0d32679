/**
 * The kinds of a cluster's OpenAPI documents. A cluster can have any number of custom kinds, and
 * each has a schema of a megabyte or more: schemas beyond the limit of a cluster are omitted, and
 * their kinds are objects of any fields. The paths of a kind take ten kilobytes: custom kinds
 * beyond a number are omitted. Clients take a kind that no document has for one of any fields, too.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import { WorkBudget, workBounds } from "@kcp-ts/machinery/bounds";
import type { OpenApiSource, ResourceDefinition } from "../registry/index.ts";
import type { Dialect } from "./schemas.ts";

export interface DocumentedKind {
  readonly definition: ResourceDefinition;
  /** Whether the documents omit the schema of the kind. */
  readonly isOpaque: boolean;
  /** The schema, where it is created already. */
  readonly text?: string | undefined;
}

/** The result depends on the definitions alone, and not on the lengths that are known already. */
export function* documentedKinds(
  definitions: readonly ResourceDefinition[],
  dialect: Dialect,
): Resumable<readonly DocumentedKind[]> {
  const budget = new WorkBudget(workBounds.openApi);
  let custom = 0;
  const kinds: DocumentedKind[] = [];
  for (const definition of definitions) {
    const { openApi, openApiLength = 0 } = definition;
    if (openApi === undefined) {
      // The schemas of built-in kinds are the same everywhere, and do not count.
      kinds.push({ definition, isOpaque: false });
    } else if (++custom > workBounds.openApiKinds.unitsMax) {
    } else if (openApiLength > budget.left) {
      // A schema that does not fit is not created.
      kinds.push({ definition, isOpaque: true });
    } else {
      const { length, text } = yield* measure(definition, openApi, dialect);
      const isOpaque = length > budget.left;
      // A schema that is created in vain counts, too: it is work as well.
      budget.charge(isOpaque ? openApiLength : length);
      kinds.push({ definition, isOpaque, text: isOpaque ? undefined : text });
    }
  }
  return kinds;
}

const lengths = {
  v2: new WeakMap<ResourceDefinition, number>(),
  v3: new WeakMap<ResourceDefinition, number>(),
};

function* measure(
  definition: ResourceDefinition,
  openApi: OpenApiSource,
  dialect: Dialect,
): Resumable<{ readonly length: number; readonly text?: string }> {
  const known = lengths[dialect].get(definition);
  if (known !== undefined) return { length: known };
  yield;
  const text = yield* openApi(dialect);
  lengths[dialect].set(definition, text.length);
  return { length: text.length, text };
}
