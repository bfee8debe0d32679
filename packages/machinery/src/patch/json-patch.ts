/**
 * JSON patch (RFC 6902) as Kubernetes applies it, which is the behaviour of evanphx/json-patch v4.
 *
 * Where that library and the RFC differ, clients depend on the library: `replace` of an absent
 * member of an object adds it, `copy` of an absent member writes null, `add` of the whole document
 * is rejected, negative indices count from the end.
 */
import { type Resumable, runSync, YieldCounter } from "../base/index.ts";
import {
  cloneResumable,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonDepthMax,
  jsonEqual,
  setMember,
} from "../json/index.ts";
import type { JsonPatch, JsonPatchOperation } from "./json-patch-operation.ts";
import { arrayIndex, insertionIndex, pointerTokens } from "./json-pointer.ts";
import { jsonBytes } from "./json-size.ts";
import { PatchError } from "./patch-error.ts";

/** The maximum size that `copy` may add to a document in one patch: repeated copies double it. */
export const jsonPatchCopiedBytesMax = 3 * 1024 * 1024;

/**
 * The maximum number of array items that inserts and removals of one patch may shift, and of
 * members that its tests may compare. Without it ten thousand inserts at the front of an array of a
 * million items, or tests of an object with as many members, would take seconds.
 */
export const jsonPatchShiftedItemsMax = 20_000_000;

/** Items that are shifted in the time that a test takes for a member. */
const memberItems = 10;

/**
 * Returns a new document; `document` and the patch are not modified. Throws a `not-applicable`
 * PatchError.
 */
export function applyJsonPatch(document: JsonValue, patch: JsonPatch): JsonValue {
  return runSync(applyJsonPatchResumable(document, patch));
}

/**
 * The same, yielding between operations and within those that copy: there may be thousands, and
 * large parts among them. Patches that are applied one after the other share a budget.
 */
export function* applyJsonPatchResumable(
  document: JsonValue,
  patch: JsonPatch,
  budget = new JsonPatchBudget(),
): Resumable<JsonValue> {
  const application = new Application(yield* cloneResumable(document), budget);
  for (const operation of patch.operations) {
    yield* application.run(operation);
    yield;
  }
  yield* assertDepth(application.document);
  return application.document;
}

/** What one patch, or several in sum, may copy and shift; throws a `not-applicable` PatchError. */
export class JsonPatchBudget {
  readonly #shiftedItemsMax: number;
  #copiedBytes = 0;
  #shiftedItems = 0;

  constructor({ shiftedItemsMax = jsonPatchShiftedItemsMax } = {}) {
    this.#shiftedItemsMax = shiftedItemsMax;
  }

  copy(bytes: number): void {
    this.#copiedBytes += bytes;
    if (this.#copiedBytes > jsonPatchCopiedBytesMax) {
      throw refused(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${jsonPatchCopiedBytesMax}`,
      );
    }
  }

  shift(items: number): void {
    this.#shiftedItems += items;
    if (this.#shiftedItems > this.#shiftedItemsMax) {
      throw refused(
        `Unable to complete the patch, it shifts or compares more than ${this.#shiftedItemsMax} items`,
      );
    }
  }
}

type Container = JsonValue[] | { [key: string]: JsonValue };

class Application {
  document: JsonValue;
  readonly #budget: JsonPatchBudget;

  constructor(document: JsonValue, budget: JsonPatchBudget) {
    this.document = document;
    this.#budget = budget;
  }

  *run(operation: JsonPatchOperation): Resumable<void> {
    switch (operation.op) {
      case "add":
        yield* this.#add(operation);
        break;
      case "remove":
        this.#remove(operation);
        break;
      case "replace":
        yield* this.#replace(operation);
        break;
      case "move":
        this.#move(operation);
        break;
      case "test":
        this.#test(operation);
        break;
      case "copy":
        yield* this.#copy(operation);
        break;
      default:
        throw refused(`Unexpected kind: ${operation.op ?? "unknown"}`);
    }
  }

  *#add({ path, value = null }: JsonPatchOperation): Resumable<void> {
    if (path === undefined) throw refused("add operation failed to decode path: missing value");
    const target = this.#find(path);
    if (target === undefined)
      throw missing(`add operation does not apply: doc is missing path: "${path}"`);
    const copy = yield* cloneResumable(value);
    inContext(`error in add for path: '${path}'`, () => this.#insert(target, copy));
  }

  #remove({ path }: JsonPatchOperation): void {
    if (path === undefined) throw refused("remove operation failed to decode path: missing value");
    const target = this.#find(path);
    if (target === undefined)
      throw missing(`remove operation does not apply: doc is missing path: "${path}"`);
    inContext(`error in remove for path: '${path}'`, () => this.#take(target));
  }

  *#replace({ path, value = null }: JsonPatchOperation): Resumable<void> {
    if (path === undefined) throw missingMember("replace", "path");
    if (path === "") {
      if (typeof value !== "object" || value === null)
        throw refused("replace operation value must be object or array");
      this.document = yield* cloneResumable(value);
      return;
    }
    const target = this.#find(path);
    if (target === undefined)
      throw missing(`replace operation does not apply: doc is missing path: ${path}`);
    const { container, key } = target;
    if (!Array.isArray(container)) {
      setMember(container, key, yield* cloneResumable(value));
      return;
    }
    let index: number;
    try {
      index = arrayIndex(key, container.length);
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      throw missing(`replace operation does not apply: doc is missing key: ${path}`);
    }
    container[index] = yield* cloneResumable(value);
  }

  #move({ path, from }: JsonPatchOperation): void {
    if (from === undefined) throw missingMember("move", "from");
    const source = this.#find(from);
    if (source === undefined)
      throw missing(`move operation does not apply: doc is missing from path: ${from}`);
    const value = inContext(`error in move for path: '${source.key}'`, () => this.#take(source));
    if (path === undefined) throw missingMember("move", "path");
    const target = this.#find(path);
    if (target === undefined)
      throw missing(`move operation does not apply: doc is missing destination path: ${path}`);
    inContext(`error in move for path: '${path}'`, () => this.#insert(target, value));
  }

  *#copy({ path, from }: JsonPatchOperation): Resumable<void> {
    if (from === undefined) throw missingMember("copy", "from");
    const source = this.#find(from);
    if (source === undefined)
      throw missing(`copy operation does not apply: doc is missing from path: ${from}`);
    const value = inContext(`error in copy for from: '${from}'`, () => get(source) ?? null);
    if (path === undefined) throw refused("copy operation failed to decode path: missing value");
    const target = this.#find(path);
    if (target === undefined)
      throw missing(`copy operation does not apply: doc is missing destination path: ${path}`);
    yield* assertDepth(value);
    this.#budget.copy(yield* jsonBytes(value));
    const copy = yield* cloneResumable(value);
    inContext("error while adding value during copy", () => this.#insert(target, copy));
  }

  #test({ path, value = null }: JsonPatchOperation): void {
    if (path === undefined) throw missingMember("test", "path");
    let actual: JsonValue;
    if (path === "") {
      actual = this.document;
    } else {
      const target = this.#find(path);
      if (target === undefined)
        throw missing(`test operation does not apply: is missing path: ${path}`);
      actual = inContext(`error in test for path: '${path}'`, () => get(target) ?? null);
    }
    if (!jsonEqual(actual, value, (members) => this.#budget.shift(members * memberItems)))
      throw refused(`testing value ${path} failed: test failed`);
  }

  /**
   * The container of the last token of `path`, or undefined when a parent is missing or a scalar.
   */
  #find(path: string): Target | undefined {
    const tokens = pointerTokens(path);
    const key = tokens.pop();
    if (key === undefined) return undefined;
    let container: JsonValue = this.document;
    for (const token of tokens) {
      if (!isContainer(container)) return undefined;
      const next = getOrMissing({ container, key: token });
      if (next === undefined) return undefined;
      container = next;
    }
    return isContainer(container) ? { container, key } : undefined;
  }

  #insert({ container, key }: Target, value: JsonValue): void {
    if (!Array.isArray(container)) {
      setMember(container, key, value);
      return;
    }
    if (key === "-") {
      container.push(value);
      return;
    }
    const index = insertionIndex(key, container.length);
    this.#budget.shift(container.length - index);
    container.splice(index, 0, value);
  }

  #take({ container, key }: Target): JsonValue {
    if (!Array.isArray(container)) {
      if (!Object.hasOwn(container, key)) throw missing(`Unable to remove nonexistent key: ${key}`);
      const value = container[key] as JsonValue;
      delete container[key];
      return value;
    }
    const index = arrayIndex(key, container.length);
    this.#budget.shift(container.length - index);
    return container.splice(index, 1)[0] as JsonValue;
  }
}

interface Target {
  readonly container: Container;
  readonly key: string;
}

function isContainer(value: JsonValue): value is Container & JsonValue {
  return Array.isArray(value) || isJsonObject(value);
}

function get({ container, key }: Target): JsonValue | undefined {
  if (Array.isArray(container)) return container[arrayIndex(key, container.length)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

function getOrMissing(target: Target): JsonValue | undefined {
  try {
    return get(target);
  } catch (error) {
    if (error instanceof PatchError) return undefined;
    throw error;
  }
}

/** Values that are visited in one step. */
const visitedPerStep = 1000;

/** Moves can nest deeper than the parser accepts; recursive code relies on the parser's bound. */
function* assertDepth(value: JsonValue): Resumable<void> {
  const pace = new YieldCounter(visitedPerStep);
  let containers: readonly JsonValue[] = isContainer(value) ? [value] : [];
  for (let level = 1; containers.length > 0; level++) {
    if (level > jsonDepthMax) throw refused(`exceeded max depth of ${jsonDepthMax} levels`);
    const inner: JsonValue[] = [];
    for (const container of containers) {
      for (const each of Object.values(container as JsonObject) as JsonValue[]) {
        if (isContainer(each)) inner.push(each);
        if (pace.isTime()) yield;
      }
    }
    containers = inner;
  }
}

function inContext<Result>(context: string, action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    if (error instanceof PatchError) throw refused(`${context}: ${error.message}`);
    throw error;
  }
}

function refused(message: string): PatchError {
  return new PatchError("not-applicable", message);
}

function missing(message: string): PatchError {
  return refused(`${message}: missing value`);
}

function missingMember(operation: string, name: "path" | "from"): PatchError {
  const detail = name === "path" ? "operation missing path field" : "operation, missing from field";
  return missing(`${operation} operation failed to decode ${name}: ${detail}`);
}
