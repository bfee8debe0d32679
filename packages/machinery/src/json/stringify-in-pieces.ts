/**
 * The JSON text of a large value in pieces: the same text as `stringifyJson` gives, which takes five milliseconds for a megabyte.
 *
 * Containers are walked through, each once: to ask a large object for its members takes long by itself. Neighbours that are no containers are written together.
 */
import { Pace, type Pieces } from "../base/index.ts";
import { stringifyJson } from "./stringify.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./value.ts";

/** Values that are written at once. */
const valuesPerPiece = 250;

export function* stringifyInPieces(value: JsonValue): Pieces<string> {
  if (isPlain(value)) return stringifyJson(value);
  const texts: string[] = [];
  yield* write(value, texts, new Pace(valuesPerPiece));
  yield;
  return texts.join("");
}

function* write(value: JsonValue, texts: string[], pace: Pace): Pieces<void> {
  if (isJsonObject(value)) yield* writeObject(value, texts, pace);
  else yield* writeArray(value as readonly JsonValue[], texts, pace);
}

function* writeObject(object: JsonObject, texts: string[], pace: Pace): Pieces<void> {
  let plain: [string, JsonValue][] = [];
  let before = "{";
  const flush = () => {
    if (plain.length === 0) return;
    texts.push(before, stringifyJson(Object.fromEntries(plain)).slice(1, -1));
    before = ",";
    plain = [];
  };
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    if (isPlain(value)) plain.push([name, value]);
    else {
      flush();
      texts.push(before, JSON.stringify(name), ":");
      before = ",";
      yield* write(value, texts, pace);
    }
    if (!pace.isTime()) continue;
    flush();
    yield;
  }
  flush();
  texts.push(before === "{" ? "{}" : "}");
}

function* writeArray(array: readonly JsonValue[], texts: string[], pace: Pace): Pieces<void> {
  let plain: JsonValue[] = [];
  let before = "[";
  const flush = () => {
    if (plain.length === 0) return;
    texts.push(before, stringifyJson(plain).slice(1, -1));
    before = ",";
    plain = [];
  };
  for (const item of array) {
    if (isPlain(item)) plain.push(item);
    else {
      flush();
      texts.push(before);
      before = ",";
      yield* write(item, texts, pace);
    }
    if (!pace.isTime()) continue;
    flush();
    yield;
  }
  flush();
  texts.push(before === "[" ? "[]" : "]");
}

/** No container, or one with nothing in it. Strings are never cut: a megabyte of one takes a millisecond. */
function isPlain(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}
