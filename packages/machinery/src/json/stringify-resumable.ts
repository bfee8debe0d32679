/**
 * Writes the JSON text of a large value resumably: the same text as `stringifyJson`, which takes
 * five milliseconds for a megabyte.
 *
 * Containers are iterated over once each: listing the members of a large object takes long by
 * itself. Neighbouring scalars and small objects are written together.
 */
import { type Resumable, YieldCounter } from "../base/index.ts";
import { stringifyJson } from "./stringify.ts";
import { isJsonObject, isPlain, isSmall, type JsonObject, type JsonValue } from "./value.ts";

/** Values that are written per step. */
const valuesPerPiece = 250;

export function* stringifyResumable(value: JsonValue): Resumable<string> {
  if (isPlain(value)) return stringifyJson(value);
  const texts: string[] = [];
  yield* write(value, texts, new YieldCounter(valuesPerPiece));
  yield;
  return texts.join("");
}

function* write(value: JsonValue, texts: string[], pace: YieldCounter): Resumable<void> {
  if (isJsonObject(value)) yield* writeObject(value, texts, pace);
  else yield* writeArray(value as readonly JsonValue[], texts, pace);
}

function* writeObject(object: JsonObject, texts: string[], pace: YieldCounter): Resumable<void> {
  const open = new Open<[string, JsonValue]>(texts, "{", Object.fromEntries);
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    if (isSmall(value)) open.add([name, value]);
    else {
      open.separate();
      texts.push(JSON.stringify(name), ":");
      yield* write(value, texts, pace);
    }
    if (!pace.isTime()) continue;
    open.flush();
    yield;
  }
  open.close("}");
}

function* writeArray(
  array: readonly JsonValue[],
  texts: string[],
  pace: YieldCounter,
): Resumable<void> {
  const open = new Open<JsonValue>(texts, "[", (items) => items);
  for (const item of array) {
    if (isSmall(item)) open.add(item);
    else {
      open.separate();
      yield* write(item, texts, pace);
    }
    if (!pace.isTime()) continue;
    open.flush();
    yield;
  }
  open.close("]");
}

/**
 * A container that is being written: the separators of its parts, and scalars until they are
 * written together.
 */
class Open<Part> {
  readonly #texts: string[];
  readonly #joined: (parts: readonly Part[]) => JsonValue;
  #before: string;
  #plain: Part[] = [];

  constructor(texts: string[], opening: "{" | "[", joined: (parts: readonly Part[]) => JsonValue) {
    this.#texts = texts;
    this.#joined = joined;
    this.#before = opening;
  }

  add(part: Part): void {
    this.#plain.push(part);
  }

  flush(): void {
    if (this.#plain.length === 0) return;
    const text = stringifyJson(this.#joined(this.#plain)).slice(1, -1);
    this.#plain = [];
    this.separate();
    this.#texts.push(text);
  }

  /** Moves to the next part. */
  separate(): void {
    this.flush();
    this.#texts.push(this.#before);
    this.#before = ",";
  }

  close(closing: "}" | "]"): void {
    this.flush();
    if (this.#before !== ",") this.#texts.push(this.#before);
    this.#texts.push(closing);
  }
}
