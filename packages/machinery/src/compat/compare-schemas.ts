/**
 * Whether objects of one schema are valid under another, and the common schema of both.
 *
 * The promise: a document that passes `common` passes both. It holds because every rule either
 * keeps the stricter of two limits or reports that it cannot; a construct without a rule is
 * reported as unknown, and unknown counts as no.
 *
 *     const { verdict, common, findings } = compareSchemas(existing, next);
 *     // compatible: everything that passes existing passes next, too
 *     // narrowable: common is stricter than existing, and passes next
 *     // incompatible: findings say where and why
 */
import type { JsonValue } from "../json/index.ts";
import { compileSchemaProps, type SchemaProps } from "../schema/index.ts";
import { type Finding, Findings } from "./findings.ts";
import { intersect } from "./intersect.ts";

export interface Comparison {
  readonly verdict: "compatible" | "narrowable" | "incompatible";
  /** The common schema; undefined when incompatible. */
  readonly common: SchemaProps | undefined;
  readonly findings: readonly Finding[];
}

export function compareSchemas(existing: SchemaProps, next: SchemaProps): Comparison {
  const findings = new Findings();
  const met = intersect(existing, next, "", findings);
  const common = withValidDefaults(met, "", findings);
  const { narrower, incompatible, unknown } = findings.counts;
  if (incompatible + unknown > 0) {
    const blocking = findings.list.filter(({ kind }) => kind !== "narrower");
    return { verdict: "incompatible", common: undefined, findings: blocking };
  }
  const result = narrower > 0 ? "narrowable" : "compatible";
  return { verdict: result, common, findings: findings.list };
}

/**
 * A default of the existing schema may be invalid in the common one. It is removed then: clients
 * have to set the field.
 */
function withValidDefaults(schema: SchemaProps, path: string, findings: Findings): SchemaProps {
  let { properties, items, additionalProperties } = schema;
  if (properties !== undefined) {
    properties = new Map(
      [...properties].map(([name, each]) => [
        name,
        withValidDefaults(each, `${path}.${name}`, findings),
      ]),
    );
  }
  if (items !== undefined && !Array.isArray(items))
    items = withValidDefaults(items as SchemaProps, `${path}[]`, findings);
  if (typeof additionalProperties === "object")
    additionalProperties = withValidDefaults(additionalProperties, `${path}{}`, findings);
  const checked = { ...schema, properties, items, additionalProperties };
  if (schema.default === undefined || passes(checked, schema.default)) return checked;
  const shown = JSON.stringify(schema.default);
  findings.narrower(path, `the default ${shown} is not allowed any more`);
  return { ...checked, default: undefined };
}

function passes(schema: SchemaProps, value: JsonValue): boolean {
  return compileSchemaProps({ ...schema, default: undefined }).validate(value, {}).length === 0;
}
