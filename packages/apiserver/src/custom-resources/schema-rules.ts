/** Finds the rules of a compiled schema. */
import type { CompiledSchema, SchemaProps, ValidationRule } from "@kcp-ts/machinery/schema";

type SchemaNode = CompiledSchema["root"];

export interface SchemaRules {
  readonly rules: readonly ValidationRule[];
  readonly schema: SchemaProps;
  readonly isResourceRoot: boolean;
}

/** Each sub-schema once, however often it occurs. */
export function* collectSchemaRules(root: SchemaNode): Generator<SchemaRules> {
  const seen = new Set<SchemaNode>([root]);
  for (const node of seen) {
    if (node.rules !== undefined)
      yield { ...node.rules, isResourceRoot: node === root || node.embedded };
    for (const child of node.properties?.values() ?? []) seen.add(child);
    if (node.items !== undefined) seen.add(node.items);
    if (typeof node.additional === "object") seen.add(node.additional);
  }
}
