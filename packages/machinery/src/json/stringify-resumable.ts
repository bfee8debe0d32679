/**
 * Writes the JSON text of a large value resumably: the same text as `stringifyJson`, which takes
 * five milliseconds for a megabyte.
 *
 * Containers are iterated over once each: listing the members of a large object takes long by
 * itself. Neighbouring scalars are written together, and small containers at once: a generator for
 * each of them would take more memory than its text.
 */
import { type Resumable, YieldCounter } from "../base/index.ts";
import {
  hasAtMost,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  stringifyJson,
} from "./value.ts";

/** Members and items that are written per step. */
const partsPerStep = 100;
/** Values of a part that is written at once. */
const valuesPerPart = 24;

export function* stringifyResumable(value: JsonValue): Resumable<string> {
  if (hasAtMost(valuesPerPart, value)) return stringifyJson(value);
  const texts: string[] = [];
  yield* write(value, texts, new YieldCounter(partsPerStep));
  yield;
  return texts.join("");
}

function* write(value: JsonValue, texts: string[], pace: YieldCounter): Resumable<void> {
  if (isJsonObject(value)) yield* writeObject(value, texts, pace);
  else yield* writeArray(value as readonly JsonValue[], texts, pace);
}

/** Without a temporary object for each step: V8 would keep a shape for each of its states. */
function* writeObject(object: JsonObject, texts: string[], pace: YieldCounter): Resumable<void> {
  let separator = "{";
  let scalars: string[] = [];
  let empties: string[] = [];
  const flush = () => {
    if (scalars.length > 0) texts.push(separator, stringifyMembers(object, scalars));
    else if (empties.length > 0) texts.push(separator, stringifyEmpties(empties));
    else return;
    separator = ",";
    scalars = [];
    empties = [];
  };
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    if (typeof value !== "object" || value === null) {
      if (empties.length > 0) flush();
      scalars.push(name);
    } else if (isEmptyObject(value)) {
      if (scalars.length > 0) flush();
      empties.push(name);
    } else {
      flush();
      texts.push(`${separator}${JSON.stringify(name)}:`);
      separator = ",";
      if (hasAtMost(valuesPerPart, value)) texts.push(stringifyJson(value));
      else yield* write(value, texts, pace);
    }
    if (!pace.isTime()) continue;
    flush();
    yield;
  }
  flush();
  texts.push(separator === "{" ? "{}" : "}");
}

/** The members with scalars, without braces. */
function stringifyMembers(object: JsonObject, names: readonly string[]): string {
  try {
    return JSON.stringify(object, names as string[]).slice(1, -1);
  } catch (error) {
    // As in stringifyJson: a bigint.
    if (!(error instanceof TypeError)) throw error;
    return names
      .map((name) => `${JSON.stringify(name)}:${stringifyJson(object[name] as JsonValue)}`)
      .join();
  }
}

/** Sets, such as those of managedFields, are objects with empty members. */
function stringifyEmpties(names: readonly string[]): string {
  // Within a string a quote follows a backslash: only the separators have a comma before a quote.
  return `${JSON.stringify(names).slice(1, -1).replaceAll('","', '":{},"')}:{}`;
}

function isEmptyObject(value: object): boolean {
  if (Array.isArray(value)) return false;
  for (const _ in value) return false;
  return true;
}

function* writeArray(
  array: readonly JsonValue[],
  texts: string[],
  pace: YieldCounter,
): Resumable<void> {
  let separator = "[";
  let small: JsonValue[] = [];
  const flush = () => {
    if (small.length === 0) return;
    texts.push(separator, stringifyJson(small).slice(1, -1));
    separator = ",";
    small = [];
  };
  for (const item of array) {
    if (hasAtMost(valuesPerPart, item)) small.push(item);
    else {
      flush();
      texts.push(separator);
      separator = ",";
      yield* write(item, texts, pace);
    }
    if (!pace.isTime()) continue;
    flush();
    yield;
  }
  flush();
  texts.push("]");
}
