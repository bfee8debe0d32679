/** The common types of the rules for the parts of a schema. */
import type { Resumable } from "../base/index.ts";
import type { SchemaProps } from "../schema/index.ts";
import type { Findings } from "./findings.ts";

/**
 * The common schema during the comparison: a copy of the existing one, from which parts are
 * removed.
 */
export type MutableSchemaProps = { -readonly [Keyword in keyof SchemaProps]: SchemaProps[Keyword] };

export interface Intersection {
  readonly findings: Findings;
  /** The result of the intersection. */
  intersect(existing: SchemaProps, next: SchemaProps, path: string): Resumable<SchemaProps>;
}
