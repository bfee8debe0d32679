/**
 * Validates an applied configuration against its type, as far as ownership depends on it; the rest
 * is done by validation.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { statusError } from "../status/index.ts";
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

/** Items of sets and keyed lists in one configuration, which are owned individually. */
export const ownedItemsMax = 6_000;

/** Further problems are not reported: the first ones are enough. */
export const typeErrorsMax = 100;

/**
 * One text for all problems, or undefined if there are none: `.spec.foo: field not declared in
 * schema`.
 */
export function typeErrorsOf(value: JsonObject, type: TypeSchema): string | undefined {
  const findings = new Findings();
  check(value, type, undefined, findings);
  const { errors } = findings;
  if (errors.length <= 1) return errors[0];
  return ["errors:", ...errors.map((error) => `  ${error}`)].join("\n");
}

class Findings {
  readonly errors: string[] = [];
  #ownedItems = 0;

  /** Throws a 413 when there are too many. */
  countItems(items: number): void {
    this.#ownedItems += items;
    if (this.#ownedItems > ownedItemsMax)
      throw statusError.tooLarge(`limit is ${ownedItemsMax} items of lists of type set and map`);
  }
}

/** The position of a value, formatted only when there is a problem. */
interface Place {
  readonly parent: Place | undefined;
  readonly element: PathElement;
}

function check(
  value: JsonValue,
  type: TypeSchema,
  place: Place | undefined,
  findings: Findings,
): void {
  if (findings.errors.length >= typeErrorsMax) return;
  switch (shapeOf(type, value)) {
    case "map":
      checkMap(value, type.map as MapType, place, findings);
      break;
    case "list":
      checkList(value, type.list as ListType, place, findings);
      break;
    default:
      checkScalar(value, type.scalar as ScalarKind, place, findings);
  }
}

function checkMap(
  value: JsonValue,
  type: MapType,
  place: Place | undefined,
  findings: Findings,
): void {
  if (value === null) return;
  if (!isJsonObject(value)) {
    report(findings, place, `expected map, got ${goPointer(value)}`);
    return;
  }
  for (const name in value) {
    const item = memberType(type, name);
    const below = { parent: place, element: fieldElement(name) };
    if (item === undefined) report(findings, below, "field not declared in schema");
    else check(value[name] as JsonValue, item, below, findings);
  }
}

function checkList(
  value: JsonValue,
  type: ListType,
  place: Place | undefined,
  findings: Findings,
): void {
  if (value === null) return;
  if (!Array.isArray(value)) {
    report(findings, place, `expected list, got ${goPointer(value)}`);
    return;
  }
  if (type.relationship !== "atomic") findings.countItems(value.length);
  const seen = new Set<PathElement>();
  for (const [i, item] of (value as readonly JsonValue[]).entries()) {
    if (type.relationship === "atomic") {
      check(item, type.item, { parent: place, element: `i:${i}` }, findings);
      continue;
    }
    const { element, error } = itemElement(type, item);
    if (element === undefined) {
      report(findings, place, `element ${i}: ${error}`);
      return;
    }
    if (seen.has(element)) {
      report(findings, place, `duplicate entries for key ${formatElement(element)}`);
    }
    seen.add(element);
    check(item, type.item, { parent: place, element }, findings);
  }
}

function checkScalar(
  value: JsonValue,
  kind: ScalarKind,
  place: Place | undefined,
  findings: Findings,
): void {
  if (value === null) return;
  switch (kind) {
    case "string":
      if (typeof value !== "string") {
        report(
          findings,
          place,
          `expected string, got &value.valueUnstructured{Value:${goValue(value)}}`,
        );
      }
      break;
    case "numeric":
      if (typeof value !== "number" && typeof value !== "bigint") {
        report(findings, place, `expected numeric (int or float), got ${goType(value)}`);
      }
      break;
    case "boolean":
      if (typeof value !== "boolean")
        report(findings, place, `expected boolean, got ${goPointer(value)}`);
      break;
    default:
      if (typeof value === "object")
        report(findings, place, `expected any scalar, got ${goPointer(value)}`);
  }
}

function report({ errors }: Findings, place: Place | undefined, message: string): void {
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

/** Close to Go's output, and short: clients should not parse it. */
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
