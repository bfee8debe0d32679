/** Checks an applied configuration against its type. What is checked is what ownership depends on; the rest is validation's. */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { itemElement } from "./list-item.ts";
import { formatElement } from "./path-element.ts";
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
  check(value, type, "", errors);
  if (errors.length <= 1) return errors[0];
  return ["errors:", ...errors.map((error) => `  ${error}`)].join("\n");
}

function check(value: JsonValue, type: TypeSchema, path: string, errors: string[]): void {
  if (errors.length >= typeErrorsMax) return;
  switch (shapeOf(type, value)) {
    case "map":
      checkMap(value, type.map as MapType, path, errors);
      break;
    case "list":
      checkList(value, type.list as ListType, path, errors);
      break;
    default:
      checkScalar(value, type.scalar as ScalarKind, path, errors);
  }
}

function checkMap(value: JsonValue, type: MapType, path: string, errors: string[]): void {
  if (value === null) return;
  if (!isJsonObject(value)) {
    report(errors, path, `expected map, got ${goPointer(value)}`);
    return;
  }
  for (const name of Object.keys(value)) {
    const item = memberType(type, name);
    if (item === undefined) report(errors, `${path}.${name}`, "field not declared in schema");
    else check(value[name] as JsonValue, item, `${path}.${name}`, errors);
  }
}

function checkList(value: JsonValue, type: ListType, path: string, errors: string[]): void {
  if (value === null) return;
  if (!Array.isArray(value)) {
    report(errors, path, `expected list, got ${goPointer(value)}`);
    return;
  }
  const seen = new Set<string>();
  for (const [i, item] of (value as readonly JsonValue[]).entries()) {
    if (type.relationship === "atomic") {
      check(item, type.item, `${path}[${i}]`, errors);
      continue;
    }
    const { element, error } = itemElement(type, item);
    if (element === undefined) {
      report(errors, path, `element ${i}: ${error}`);
      return;
    }
    const shown = formatElement(element);
    if (seen.has(element)) report(errors, path, `duplicate entries for key ${shown}`);
    seen.add(element);
    check(item, type.item, path + shown, errors);
  }
}

function checkScalar(value: JsonValue, kind: ScalarKind, path: string, errors: string[]): void {
  if (value === null) return;
  switch (kind) {
    case "string":
      if (typeof value !== "string") {
        report(
          errors,
          path,
          `expected string, got &value.valueUnstructured{Value:${goValue(value)}}`,
        );
      }
      break;
    case "numeric":
      if (typeof value !== "number" && typeof value !== "bigint") {
        report(errors, path, `expected numeric (int or float), got ${goType(value)}`);
      }
      break;
    case "boolean":
      if (typeof value !== "boolean")
        report(errors, path, `expected boolean, got ${goPointer(value)}`);
      break;
    default:
      if (typeof value === "object")
        report(errors, path, `expected any scalar, got ${goPointer(value)}`);
  }
}

function report(errors: string[], path: string, message: string): void {
  if (errors.length < typeErrorsMax) errors.push(path === "" ? message : `${path}: ${message}`);
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
