/** Checks an applied configuration against its type. What is checked is what ownership depends on; the rest is validation's. */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { itemElement } from "./list-item.ts";
import { fieldElement, formatElement, formatPath, type PathElement } from "./path-element.ts";
import {
  type ListType,
  type MapType,
  memberType,
  type ScalarKind,
  shapeOf,
  type TypeSchema,
} from "./type-schema.ts";

/** More problems than this are not reported: the first ones say enough. */
export const typeErrorsMax = 100;

/** One text for all problems, or undefined if there are none: `.spec.foo: field not declared in schema`. */
export function typeErrorsOf(value: JsonObject, type: TypeSchema): string | undefined {
  const errors: string[] = [];
  check(value, type, undefined, errors);
  if (errors.length <= 1) return errors[0];
  return ["errors:", ...errors.map((error) => `  ${error}`)].join("\n");
}

/** Where a value is, written out only when there is something to say about it. */
interface Place {
  readonly parent: Place | undefined;
  readonly element: PathElement;
}

function check(
  value: JsonValue,
  type: TypeSchema,
  place: Place | undefined,
  errors: string[],
): void {
  if (errors.length >= typeErrorsMax) return;
  switch (shapeOf(type, value)) {
    case "map":
      checkMap(value, type.map as MapType, place, errors);
      break;
    case "list":
      checkList(value, type.list as ListType, place, errors);
      break;
    default:
      checkScalar(value, type.scalar as ScalarKind, place, errors);
  }
}

function checkMap(
  value: JsonValue,
  type: MapType,
  place: Place | undefined,
  errors: string[],
): void {
  if (value === null) return;
  if (!isJsonObject(value)) {
    report(errors, place, `expected map, got ${goPointer(value)}`);
    return;
  }
  for (const name in value) {
    const item = memberType(type, name);
    const below = { parent: place, element: fieldElement(name) };
    if (item === undefined) report(errors, below, "field not declared in schema");
    else check(value[name] as JsonValue, item, below, errors);
  }
}

function checkList(
  value: JsonValue,
  type: ListType,
  place: Place | undefined,
  errors: string[],
): void {
  if (value === null) return;
  if (!Array.isArray(value)) {
    report(errors, place, `expected list, got ${goPointer(value)}`);
    return;
  }
  const seen = new Set<PathElement>();
  for (const [i, item] of (value as readonly JsonValue[]).entries()) {
    if (type.relationship === "atomic") {
      check(item, type.item, { parent: place, element: `i:${i}` }, errors);
      continue;
    }
    const { element, error } = itemElement(type, item);
    if (element === undefined) {
      report(errors, place, `element ${i}: ${error}`);
      return;
    }
    if (seen.has(element)) {
      report(errors, place, `duplicate entries for key ${formatElement(element)}`);
    }
    seen.add(element);
    check(item, type.item, { parent: place, element }, errors);
  }
}

function checkScalar(
  value: JsonValue,
  kind: ScalarKind,
  place: Place | undefined,
  errors: string[],
): void {
  if (value === null) return;
  switch (kind) {
    case "string":
      if (typeof value !== "string") {
        report(
          errors,
          place,
          `expected string, got &value.valueUnstructured{Value:${goValue(value)}}`,
        );
      }
      break;
    case "numeric":
      if (typeof value !== "number" && typeof value !== "bigint") {
        report(errors, place, `expected numeric (int or float), got ${goType(value)}`);
      }
      break;
    case "boolean":
      if (typeof value !== "boolean")
        report(errors, place, `expected boolean, got ${goPointer(value)}`);
      break;
    default:
      if (typeof value === "object")
        report(errors, place, `expected any scalar, got ${goPointer(value)}`);
  }
}

function report(errors: string[], place: Place | undefined, message: string): void {
  if (errors.length >= typeErrorsMax) return;
  errors.push(place === undefined ? message : `${formatPlace(place)}: ${message}`);
}

function formatPlace(place: Place): string {
  const path: PathElement[] = [];
  for (let at: Place | undefined = place; at !== undefined; at = at.parent) path.push(at.element);
  return formatPath(path.reverse());
}

function goPointer(value: JsonValue): string {
  return `&{${goValue(value)}}`;
}

const shownCharactersMax = 200;

/** Close to what Go prints, and short: nobody should parse this. */
function goValue(value: JsonValue): string {
  if (typeof value === "object" && value !== null)
    return Array.isArray(value) ? "[...]" : "map[...]";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text;
}

function goType(value: JsonValue): string {
  if (Array.isArray(value)) return "[]interface {}";
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    default:
      return "map[string]interface {}";
  }
}
