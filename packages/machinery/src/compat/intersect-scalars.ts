/** Limits of numbers and texts: the stricter one of two applies. */
import { jsonEqual } from "../json/index.ts";
import { emptySchema, type SchemaProps, schemaToJson } from "../schema/index.ts";
import type { Findings } from "./findings.ts";
import type { MutableSchemaProps } from "./intersection.ts";

type CountKeyword =
  | "maxLength"
  | "minLength"
  | "maxItems"
  | "minItems"
  | "maxProperties"
  | "minProperties";

export function intersectNumbers(
  draft: MutableSchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
): void {
  const { maximum, minimum } = next;
  if (maximum !== undefined) {
    const isStricter =
      draft.maximum === undefined ||
      maximum < draft.maximum ||
      (maximum === draft.maximum && next.exclusiveMaximum && !draft.exclusiveMaximum);
    if (isStricter) {
      draft.maximum = maximum;
      draft.exclusiveMaximum = next.exclusiveMaximum;
      findings.narrower(path, `at most ${maximum} now`);
    }
  }
  if (minimum !== undefined) {
    const isStricter =
      draft.minimum === undefined ||
      minimum > draft.minimum ||
      (minimum === draft.minimum && next.exclusiveMinimum && !draft.exclusiveMinimum);
    if (isStricter) {
      draft.minimum = minimum;
      draft.exclusiveMinimum = next.exclusiveMinimum;
      findings.narrower(path, `at least ${minimum} now`);
    }
  }
  checkRange(draft.minimum, draft.maximum, path, findings);
  meetMultiples(draft, next, path, findings);
}

function meetMultiples(
  draft: MutableSchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
): void {
  const wanted = next.multipleOf;
  const has = draft.multipleOf;
  if (wanted === undefined || wanted === has) return;
  if (has === undefined) {
    draft.multipleOf = wanted;
    findings.narrower(path, `only multiples of ${wanted} now`);
    return;
  }
  const areWhole = Number.isInteger(has) && Number.isInteger(wanted);
  if (areWhole && has % wanted === 0) return;
  if (areWhole && wanted % has === 0) {
    draft.multipleOf = wanted;
    findings.narrower(path, `only multiples of ${wanted} now`);
  } else findings.unknown(path, `multiples of ${has} and of ${wanted}`);
}

export function intersectStrings(
  draft: MutableSchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
): void {
  intersectCounts(draft, next, "minLength", "maxLength", path, findings);
  meetFormats(draft, next, path, findings);
  if (next.pattern === "" || next.pattern === draft.pattern) return;
  findings.narrower(path, `the pattern ${next.pattern} holds now`);
  if (draft.pattern === "") draft.pattern = next.pattern;
  // One node has one pattern; a second one is a condition.
  else draft.allOf = [...draft.allOf, { ...emptySchema(), pattern: next.pattern }];
}

/** Formats that are ranges of whole numbers, the wider ones first. */
const integerFormats = ["", "int64", "int32"];

function meetFormats(
  draft: MutableSchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
): void {
  if (next.format === "" || next.format === draft.format) return;
  const message = `the format ${next.format} holds now`;
  if (draft.format === "") {
    draft.format = next.format;
    findings.narrower(path, message);
    return;
  }
  const [has, wanted] = [integerFormats.indexOf(draft.format), integerFormats.indexOf(next.format)];
  if (has < 0 || wanted < 0)
    findings.unknown(path, `the formats ${draft.format} and ${next.format} cannot be compared`);
  else if (wanted > has) {
    draft.format = next.format;
    findings.narrower(path, message);
  }
}

/** A pair of limits of a count. */
export function intersectCounts(
  draft: MutableSchemaProps,
  next: SchemaProps,
  least: CountKeyword,
  most: CountKeyword,
  path: string,
  findings: Findings,
): void {
  const [min, max] = [next[least], next[most]];
  if (min !== undefined && min > (draft[least] ?? 0)) {
    draft[least] = min;
    findings.narrower(path, `${least} is ${min} now`);
  }
  if (max !== undefined && max < (draft[most] ?? Number.POSITIVE_INFINITY)) {
    draft[most] = max;
    findings.narrower(path, `${most} is ${max} now`);
  }
  checkRange(draft[least], draft[most], path, findings);
}

function checkRange(
  least: number | undefined,
  most: number | undefined,
  path: string,
  findings: Findings,
): void {
  if (least !== undefined && most !== undefined && least > most)
    findings.incompatible(path, `nothing is at least ${least} and at most ${most}`);
}

/** Whether the conditions of one side equal those of the other. */
export function isSameOrNarrower(
  has: SchemaProps | readonly SchemaProps[] | undefined,
  wanted: SchemaProps | readonly SchemaProps[],
): boolean {
  if (has === undefined) return false;
  const json = (value: SchemaProps | readonly SchemaProps[]) =>
    Array.isArray(value)
      ? (value as readonly SchemaProps[]).map(schemaToJson)
      : schemaToJson(value as SchemaProps);
  return jsonEqual(json(has), json(wanted));
}
