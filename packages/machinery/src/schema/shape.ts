/**
 * Shapes an object by its schema: coerces metadata, prunes unknown fields, drops nulls, applies
 * defaults; in one walk.
 *
 * The rules are those of Kubernetes' four separate walks (pruning, prunenulls, objectmeta coercion,
 * defaulting), which commute when done member by member. The input is never changed: an unchanged
 * value is returned itself, so the caller sees by identity that stored bytes are still valid.
 */
import {
  cloneJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  setMember,
} from "../json/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import { coerceObjectMeta } from "./coerce-meta.ts";
import {
  defaultedTextMax,
  defaultedValuesMax,
  SchemaLimitError,
  unknownFieldsMax,
} from "./limits.ts";
import { reachBit, type SchemaNode } from "./schema-node.ts";
import { dottedPath, fieldPath, type PathSegment } from "./value-path.ts";

export interface ShapeSteps {
  readonly prune?: boolean;
  /**
   * Drops an explicit null from a field that is not nullable, so that its default, if any, applies.
   */
  readonly dropNulls?: boolean;
  readonly applyDefaults?: boolean;
  /** The handling of malformed metadata of embedded resources (and of the root, if it is one). */
  readonly malformedMetadata?: "reject" | "drop";
  /**
   * The value is a complete resource: apiVersion, kind and metadata are known without being in the
   * schema.
   */
  readonly isResourceRoot?: boolean;
}

export interface Shaped {
  readonly value: JsonValue;
  /**
   * Paths of dropped fields: those of the metadata, of the object, of embedded metadata, each
   * sorted; at most `unknownFieldsMax`.
   */
  readonly unknownFields: readonly string[];
  /** The first malformed metadata, when it is to be rejected. */
  readonly error: FieldError | undefined;
}

export function shape(value: JsonValue, node: SchemaNode, steps: ShapeSteps): Shaped {
  const walk = new ShapeWalk(steps);
  const shaped = walk.root(value, node);
  return {
    value: shaped,
    unknownFields: [
      ...walk.unknownInMetadata.sort(),
      ...walk.unknown.sort(),
      ...walk.unknownInEmbedded.sort(),
    ].slice(0, unknownFieldsMax),
    error: walk.error,
  };
}

/**
 * `prune`: unknown fields are removed. `preserve`: unknown fields stay, known ones are pruned
 * inside. `keep`: nothing is removed, at any depth.
 */
type Mode = "prune" | "preserve" | "keep";

const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);
const gone = Symbol("gone");

class ShapeWalk {
  readonly unknown: string[] = [];
  readonly unknownInMetadata: string[] = [];
  readonly unknownInEmbedded: string[] = [];
  error: FieldError | undefined;
  readonly #steps: ShapeSteps;
  readonly #path: PathSegment[] = [];
  /** Without pruning and nulls, subtrees without defaults need no visit. */
  readonly #defaultsOnly: boolean;
  #addedValues = 0;
  #addedText = 0;

  constructor(steps: ShapeSteps) {
    this.#steps = steps;
    this.#defaultsOnly =
      steps.prune !== true && steps.dropNulls !== true && steps.malformedMetadata === undefined;
  }

  root(value: JsonValue, node: SchemaNode): JsonValue {
    const mode: Mode = this.#steps.prune === true ? "prune" : "keep";
    if (this.#steps.isResourceRoot === true && isJsonObject(value)) {
      return this.#object(value, node, effectiveMode(node, mode), true);
    }
    return this.#value(value, node, mode);
  }

  #value(value: JsonValue, node: SchemaNode | undefined, outer: Mode): JsonValue {
    if (typeof value !== "object" || value === null) return value;
    if (node === undefined) return outer === "prune" ? this.#emptied(value) : value;
    if (this.#defaultsOnly && (node.reach & reachBit.default) === 0) return value;
    const mode = effectiveMode(node, outer);
    if (Array.isArray(value)) return this.#array(value, node, mode);
    return this.#object(value as JsonObject, node, mode, node.embedded);
  }

  #object(value: JsonObject, node: SchemaNode, mode: Mode, isResource: boolean): JsonValue {
    let copy: { [key: string]: JsonValue } | undefined;
    const keys = Object.keys(value);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string;
      const member = value[key] as JsonValue;
      const next = this.#member(key, member, node, mode, isResource && metaFields.has(key));
      // Rebuilt from the first change on: deleting from a copy would leave a slow object.
      if (next !== member) copy ??= firstMembers(value, keys, i);
      if (copy !== undefined && next !== gone) setMember(copy, key, next);
    }
    if (this.#steps.applyDefaults === true && node.defaulted.length > 0) {
      for (const name of node.defaulted) {
        if (Object.hasOwn(copy ?? value, name)) continue;
        const property = node.properties?.get(name) as SchemaNode;
        copy ??= { ...value };
        this.#path.push(name);
        setMember(copy, name, this.#default(property, mode));
        this.#path.pop();
      }
    }
    return copy ?? value;
  }

  #member(
    key: string,
    member: JsonValue,
    node: SchemaNode,
    mode: Mode,
    isMeta: boolean,
  ): JsonValue | typeof gone {
    let child = node.properties?.get(key);
    const isMapEntry = child === undefined;
    if (child === undefined) {
      const additional = node.additional;
      if (additional === undefined && mode === "prune" && !isMeta) {
        this.#recordUnknown(key);
        return gone;
      }
      if (typeof additional === "object") child = additional;
      else if (additional === undefined && !isMeta) return member;
    }
    // Scalars, the bulk of every object, have no children to be pruned or defaulted.
    if (typeof member !== "object" && !isMeta) return member;
    this.#path.push(isMapEntry && !isMeta ? [key] : key);
    let next: JsonValue | typeof gone = isMeta ? this.#metaMember(key, member) : member;
    if (next === null && child !== undefined) next = this.#null(child, mode);
    else if (next !== gone) next = this.#value(next, child, isMeta ? "keep" : childMode(mode));
    this.#path.pop();
    return next;
  }

  #array(value: readonly JsonValue[], node: SchemaNode, mode: Mode): JsonValue {
    let copy: JsonValue[] | undefined;
    const items = node.items;
    for (let i = 0; i < value.length; i++) {
      const item = value[i] as JsonValue;
      if (typeof item !== "object") continue;
      this.#path.push(i);
      let next: JsonValue = item;
      if (item !== null) {
        next = this.#item(item, items, mode);
      } else if (this.#fillsNull(items)) {
        next = this.#default(items as SchemaNode, mode);
      }
      this.#path.pop();
      if (next === item) continue;
      copy ??= value.slice();
      copy[i] = next;
    }
    return copy ?? value;
  }

  /** Under a preserving array the items preserve too. */
  #item(item: JsonValue, items: SchemaNode | undefined, mode: Mode): JsonValue {
    if (items === undefined || mode !== "preserve") return this.#value(item, items, mode);
    if (this.#defaultsOnly && (items.reach & reachBit.default) === 0) return item;
    if (Array.isArray(item)) return this.#array(item, items, "preserve");
    return this.#object(item as JsonObject, items, "preserve", items.embedded);
  }

  #null(child: SchemaNode, mode: Mode): JsonValue | typeof gone {
    if (child.nullable) return null;
    if (this.#fillsNull(child)) return this.#default(child, mode);
    return this.#steps.dropNulls === true && child.default === undefined ? gone : null;
  }

  #fillsNull(node: SchemaNode | undefined): boolean {
    return (
      node !== undefined &&
      !node.nullable &&
      node.default !== undefined &&
      this.#steps.applyDefaults === true
    );
  }

  /** A default is itself defaulted inside. */
  #default(node: SchemaNode, mode: Mode): JsonValue {
    const value = cloneJson(node.default as JsonValue);
    this.#charge(value);
    return this.#value(value, node, childMode(mode));
  }

  /** A small schema and a list of `{}` could otherwise exhaust the memory. */
  #charge(value: JsonValue): void {
    this.#addedValues++;
    if (typeof value === "string") this.#addedText += value.length;
    else if (Array.isArray(value)) for (const item of value) this.#charge(item as JsonValue);
    else if (isJsonObject(value)) {
      for (const key of Object.keys(value)) {
        this.#addedText += key.length;
        this.#charge(value[key] as JsonValue);
      }
    }
    if (this.#addedValues > defaultedValuesMax)
      throw new SchemaLimitError(`defaults add more than ${defaultedValuesMax} values`);
    if (this.#addedText > defaultedTextMax)
      throw new SchemaLimitError(`defaults add more than ${defaultedTextMax} characters`);
  }

  #metaMember(key: string, member: JsonValue): JsonValue | typeof gone {
    const malformed = this.#steps.malformedMetadata;
    if (malformed === undefined) return member;
    if (key !== "metadata") {
      if (typeof member === "string") return member;
      if (malformed === "drop") return gone;
      this.error ??= fieldError.invalid(fieldPath(this.#path), member, "must be a string");
      return member;
    }
    const coerced = coerceObjectMeta(member, { malformed });
    const unknown = this.#path.length === 1 ? this.unknownInMetadata : this.unknownInEmbedded;
    for (const path of coerced.unknown) {
      if (unknown.length < unknownFieldsMax) unknown.push(`${fieldPath(this.#path)}.${path}`);
    }
    if (coerced.error !== undefined && malformed === "reject")
      this.error ??= fieldError.invalid(fieldPath(this.#path), member, coerced.error);
    return coerced.value;
  }

  /** No schema at all: objects lose every member, arrays are visited. */
  #emptied(value: JsonValue): JsonValue {
    if (Array.isArray(value)) {
      let copy: JsonValue[] | undefined;
      for (let i = 0; i < value.length; i++) {
        const item = value[i] as JsonValue;
        if (typeof item !== "object" || item === null) continue;
        this.#path.push(i);
        const next = this.#emptied(item);
        this.#path.pop();
        if (next === item) continue;
        copy ??= value.slice();
        copy[i] = next;
      }
      return copy ?? value;
    }
    const keys = Object.keys(value as JsonObject);
    for (const key of keys) this.#recordUnknown(key);
    return keys.length === 0 ? value : {};
  }

  #recordUnknown(key: string): void {
    // For a value that is no complete resource these three fields are not reported.
    if (this.#path.length === 0 && metaFields.has(key)) return;
    if (this.unknown.length >= unknownFieldsMax) return;
    this.#path.push(key);
    this.unknown.push(dottedPath(this.#path));
    this.#path.pop();
  }
}

function firstMembers(
  value: JsonObject,
  keys: readonly string[],
  count: number,
): { [key: string]: JsonValue } {
  const copy: { [key: string]: JsonValue } = {};
  for (let i = 0; i < count; i++) {
    const key = keys[i] as string;
    setMember(copy, key, value[key] as JsonValue);
  }
  return copy;
}

function effectiveMode(node: SchemaNode, mode: Mode): Mode {
  return mode === "prune" && node.preserve ? "preserve" : mode;
}

/** Fields named under a preserving node are pruned again by their own schemas. */
function childMode(mode: Mode): Mode {
  return mode === "preserve" ? "prune" : mode;
}
