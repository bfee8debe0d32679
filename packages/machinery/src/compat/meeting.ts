/** What the rules for the parts of a schema share. */
import type { SchemaProps } from "../schema/index.ts";
import type { Findings } from "./findings.ts";

/** The common schema while it is being made: a copy of the existing one, from which things are taken away. */
export type MutableSchemaProps = { -readonly [Keyword in keyof SchemaProps]: SchemaProps[Keyword] };

export interface Intersection {
  readonly findings: Findings;
  /** What both allow. */
  intersect(existing: SchemaProps, next: SchemaProps, path: string): SchemaProps;
}
