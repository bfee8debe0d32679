/**
 * Whether objects of one schema are valid under another, and the common schema of both.
 *
 * The promise: a document that passes `common` passes both. It holds because every rule either
 * keeps the stricter of two limits or reports that it cannot; a construct without a rule is
 * reported as unknown, and unknown counts as no.
 *
 *     const { verdict, common, findings } = runSync(compareSchemas(existing, next));
 *     // compatible: everything that passes existing passes next, too
 *     // narrowable: common is stricter than existing, and passes next
 *     // incompatible: findings say where and why
 */
import type { Resumable } from "../base/index.ts";
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

/** Yields to the event loop: physical clusters decide how large schemas are. */
export function* compareSchemas(existing: SchemaProps, next: SchemaProps): Resumable<Comparison> {
  const findings = new Findings();
  const met = yield* intersect(existing, next, findings);
  const common = yield* withValidDefaults(met, "", findings);
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
function* withValidDefaults(
  schema: SchemaProps,
  path: string,
  findings: Findings,
): Resumable<SchemaProps> {
  yield;
  let { properties, items, additionalProperties } = schema;
  if (properties !== undefined) {
    const checked = new Map<string, SchemaProps>();
    for (const [name, each] of properties)
      checked.set(name, yield* withValidDefaults(each, `${path}.${name}`, findings));
    properties = checked;
  }
  if (items !== undefined && !Array.isArray(items))
    items = yield* withValidDefaults(items as SchemaProps, `${path}[]`, findings);
  if (typeof additionalProperties === "object")
    additionalProperties = yield* withValidDefaults(additionalProperties, `${path}{}`, findings);
  const checked = { ...schema, properties, items, additionalProperties };
  if (schema.default === undefined || passes(checked, schema.default)) return checked;
  const shown = JSON.stringify(schema.default);
  findings.narrower(path, `the default ${shown} is not allowed any more`);
  return { ...checked, default: undefined };
}

function passes(schema: SchemaProps, value: JsonValue): boolean {
  return compileSchemaProps({ ...schema, default: undefined }).validate(value, {}).length === 0;
}
