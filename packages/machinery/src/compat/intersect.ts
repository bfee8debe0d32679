/**
 * The intersection of two schemas, node by node. `existing` determines the form; `next` can only
 * restrict it.
 */
import type { Resumable } from "../base/index.ts";
import { type JsonValue, jsonEqual } from "../json/index.ts";
import { emptySchema, type SchemaProps, schemaToJson } from "../schema/index.ts";
import type { Findings } from "./findings.ts";
import { intersectArrays } from "./intersect-arrays.ts";
import { intersectObjects } from "./intersect-objects.ts";
import { intersectNumbers, intersectStrings, isSameOrNarrower } from "./intersect-scalars.ts";
import type { Intersection, MutableSchemaProps } from "./intersection.ts";
import { fieldsBelow, SchemaDefaults } from "./schema-defaults.ts";
import { SchemaEquality } from "./schema-equality.ts";

export function intersect(
  existing: SchemaProps,
  next: SchemaProps,
  findings: Findings,
): Resumable<SchemaProps> {
  const known = { equality: new SchemaEquality(), defaults: new SchemaDefaults() };
  const intersection: Intersection = {
    findings,
    intersect: (one, other, path) => intersectNode(one, other, path, known, intersection),
  };
  return intersection.intersect(existing, next, "");
}

function* intersectNode(
  existing: SchemaProps,
  next: SchemaProps,
  path: string,
  { equality, defaults }: { readonly equality: SchemaEquality; readonly defaults: SchemaDefaults },
  intersection: Intersection,
): Resumable<SchemaProps> {
  yield;
  const { findings } = intersection;
  // Equal schemas allow the same values, whatever their keywords.
  if (yield* equality.isEqual(existing, next)) return existing;
  if (existing.unsupported !== undefined || next.unsupported !== undefined) {
    findings.unknown(path, "keywords that are no part of structural schemas");
    return existing;
  }
  if (isAnything(existing) && !isAnything(next))
    return intersectAnything(existing, next, path, findings);
  const draft: MutableSchemaProps = { ...existing };
  if (!isAnything(next) && !meetTypes(draft, next, path, findings)) return draft;
  intersectNumbers(draft, next, path, findings);
  intersectStrings(draft, next, path, findings);
  yield* intersectArrays(draft, next, path, intersection);
  yield* intersectObjects(draft, existing, next, path, intersection);
  meetEnums(draft, next, path, findings);
  meetLogic(draft, next, path, findings);
  meetRules(draft, existing, next, path, findings, defaults);
  if (draft.nullable && !next.nullable) {
    draft.nullable = false;
    findings.narrower(path, "null is not allowed any more");
  }
  return draft;
}

/**
 * Intersects a schema of any value with a specific one: the specific one, unless the other has
 * further keywords.
 */
function intersectAnything(
  existing: SchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
): SchemaProps {
  const { description, nullable } = existing;
  const plain = { ...emptySchema(), description, nullable, preserveUnknownFields: true };
  if (!jsonEqual(schemaToJson(existing), schemaToJson(plain)))
    findings.unknown(path, "conditions on a field without a type");
  else findings.narrower(path, `anything was allowed, now ${shownType(next)}`);
  return { ...next, nullable: nullable && next.nullable };
}

/** No type, and nothing is pruned: any JSON is allowed, as far as the type is concerned. */
function isAnything({ type, intOrString, preserveUnknownFields }: SchemaProps): boolean {
  return type === "" && !intOrString && preserveUnknownFields === true;
}

function shownType({ type, intOrString }: SchemaProps): string {
  return intOrString ? "int-or-string" : type === "" ? "no type" : type;
}

/** False when the types have nothing in common, and a further comparison makes no sense. */
function meetTypes(
  draft: MutableSchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
): boolean {
  const [was, is] = [shownType(draft), shownType(next)];
  if (was === is) return true;
  const message = `The type changed (was ${JSON.stringify(was)}, now ${JSON.stringify(is)})`;
  if (was === "integer" && (is === "number" || is === "int-or-string")) return true;
  if (was === "string" && is === "int-or-string") return true;
  const isNarrowing =
    (was === "number" && is === "integer") ||
    (was === "int-or-string" && (is === "integer" || is === "string"));
  if (!isNarrowing) {
    findings.incompatible(path, message);
    return false;
  }
  findings.narrower(path, message);
  draft.type = next.type;
  draft.intOrString = false;
  // The alternatives of int-or-string add nothing to the type.
  if (was === "int-or-string" && isIntOrStringUnion(draft)) draft.anyOf = [];
  return true;
}

function isIntOrStringUnion({ anyOf }: SchemaProps): boolean {
  const types = anyOf.map(({ type }) => type).toSorted();
  return types.length === 2 && types[0] === "integer" && types[1] === "string";
}

function meetEnums(
  draft: MutableSchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
): void {
  if (next.enum === undefined) return;
  const allowed = next.enum;
  const before = draft.enum;
  if (before === undefined) {
    draft.enum = allowed;
    findings.narrower(path, `only ${shown(allowed)} are allowed now`);
    return;
  }
  const keys = new Set(allowed.map(enumKey));
  const common = before.filter((value) => keys.has(enumKey(value)));
  if (common.length === before.length) return;
  draft.enum = common;
  const gone = before.filter((value) => !keys.has(enumKey(value)));
  if (common.length === 0)
    findings.incompatible(
      path,
      `no value is allowed by both ${shown(before)} and ${shown(allowed)}`,
    );
  else findings.narrower(path, `${shown(gone)} are not allowed any more`);
}

/** Equal for values that are equal as JSON, whatever the order of their members is. */
function enumKey(value: JsonValue): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

function shown(values: readonly JsonValue[]): string {
  const text = values.slice(0, 10).map((value) => JSON.stringify(value));
  return `[${text.join(", ")}${values.length > 10 ? ", …" : ""}]`;
}

/**
 * `allOf`, `anyOf`, `oneOf`, `not`: what the other side demands is demanded in addition,
 * if it speaks of values only.
 */
function meetLogic(
  draft: MutableSchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
): void {
  const added: SchemaProps[] = [];
  for (const keyword of ["allOf", "anyOf", "oneOf"] as const) {
    const wanted = next[keyword];
    if (
      wanted.length === 0 ||
      (next.intOrString && keyword === "anyOf" && isIntOrStringUnion(next))
    )
      continue;
    if (isSameOrNarrower(draft[keyword], wanted)) continue;
    if (keyword === "allOf") added.push(...wanted);
    else added.push({ ...emptySchema(), [keyword]: wanted });
  }
  if (next.not !== undefined && !isSameOrNarrower(draft.not, next.not))
    added.push({ ...emptySchema(), not: next.not });
  if (added.length === 0) return;
  if (draft.type === "object" || !added.every(speaksOfValuesOnly)) {
    findings.unknown(path, "conditions on members (allOf, anyOf, oneOf or not) differ");
    return;
  }
  draft.allOf = [...draft.allOf, ...added];
  findings.narrower(path, "more conditions (allOf, anyOf, oneOf or not) hold now");
}

/**
 * Members inside of conditions must be declared outside, too; whether they are is undecidable here.
 */
function speaksOfValuesOnly(schema: SchemaProps): boolean {
  const { properties, items, additionalProperties, required, allOf, anyOf, oneOf, not } = schema;
  return (
    properties === undefined &&
    items === undefined &&
    additionalProperties === undefined &&
    required.length === 0 &&
    [...allOf, ...anyOf, ...oneOf].every(speaksOfValuesOnly) &&
    (not === undefined || speaksOfValuesOnly(not))
  );
}

/**
 * CEL rules: the same or fewer rules are compatible; others cannot be compared, and rules on
 * removed members may not compile.
 */
function meetRules(
  draft: MutableSchemaProps,
  existing: SchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
  defaults: SchemaDefaults,
): void {
  const has = new Set(existing.validations.map(({ rule }) => rule));
  const added = next.validations.filter(({ rule }) => !has.has(rule));
  if (added.length > 0)
    findings.unknown(
      path,
      `rules that cannot be compared: ${added.map(({ rule }) => rule).join("; ")}`,
    );
  const isReshaped = existing.validations.length > 0 && fieldsBelow(draft) < fieldsBelow(existing);
  if (isReshaped) findings.unknown(path, "rules may speak of fields that were dropped");
  if (next.validations.length === 0) return;
  if (!defaults.areSame(next, existing))
    findings.unknown(path, "rules may speak of fields whose defaults differ");
}
