/**
 * Validates a value against its schema, with the results, texts and match counts of kube-openapi,
 * and the ratcheting of Kubernetes.
 *
 * Ratcheting: where the old value is known and equal to the new one, all errors of the value are
 * dropped. Old values are found by field name and, in lists of type map, by key. Inside oneOf,
 * anyOf, allOf and not nothing is ratcheted, as upstream.
 */
import type { Resumable } from "../base/index.ts";
import {
  exceededLimit,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  jsonEqual,
} from "../json/index.ts";
import { type FieldError, quote } from "../status/index.ts";
import { canonicalJson } from "./canonical.ts";
import {
  checkEnum,
  checkFormat,
  checkNumber,
  checkString,
  checkType,
  kindOf,
  plainMatches,
} from "./check-scalar.ts";
import { ErrorCollector, ErrorLimitReached } from "./error-collector.ts";
import { formatCheck } from "./formats.ts";
import {
  alternativeStepsMax,
  patternWorkMax,
  SchemaLimitError,
  validationStepsMax,
} from "./limits.ts";
import { correlateItems } from "./list-correlation.ts";
import type { LazyPattern, SchemaNode, ValueChecks } from "./schema-node.ts";

/**
 * The errors of a value. `base` is its path in its object, for the paths of the errors. Yields for
 * large values.
 */
export function* validateValue(
  node: SchemaNode,
  value: JsonValue,
  { old, base = "" }: { readonly old?: JsonValue | undefined; readonly base?: string } = {},
): Resumable<FieldError[]> {
  const errors = new ErrorCollector(base, { isFinal: old === undefined });
  try {
    yield* new ValueValidator(errors).validateResumable(node, value, old);
  } catch (error) {
    if (!(error instanceof ErrorLimitReached)) throw error;
  }
  return errors.length === 0 ? [] : errors.fieldErrors();
}

/** The work before a yield: steps, and the equivalent steps of patterns. */
export const validationStepsPerYield = 5_000;
const patternWorkOfStep = 20;

class ValueValidator {
  readonly #errors: ErrorCollector;
  #steps = 0;
  #patternWork = 0;
  #restAt = validationStepsPerYield;
  /** The remaining work of the alternatives that are being tried; undefined where none are. */
  #alternativesEnd: number | undefined;
  /**
   * Counts correlated values that differ from their old ones: an ancestor of such a value differs,
   * too.
   */
  #differences = 0;

  constructor(errors: ErrorCollector) {
    this.#errors = errors;
  }

  /** `old` is undefined where nothing correlates. Returns the match count. */
  validate(node: SchemaNode, value: JsonValue, old: JsonValue | undefined): number {
    if (old === undefined) return this.#apply(node, value, undefined);
    const errorsBefore = this.#errors.length;
    const differencesBefore = this.#differences;
    const matches = this.#apply(node, value, old);
    this.#forgive(value, old, errorsBefore, differencesBefore);
    return matches;
  }

  /**
   * The same for a large value, yielding between its members. Generators for all values would cost
   * more than the checks: they are created only on the path to large values, and not below
   * alternatives.
   */
  *validateResumable(
    node: SchemaNode,
    value: JsonValue,
    old: JsonValue | undefined,
  ): Resumable<void> {
    if (!isCut(node, value)) {
      this.validate(node, value, old);
      return;
    }
    const errorsBefore = this.#errors.length;
    const differencesBefore = this.#differences;
    this.#step();
    this.#type(node, value);
    const { checks } = node;
    if (Array.isArray(value)) yield* this.#arrayResumable(node, value, old);
    if (checks?.enum !== undefined) checkEnum(value, checks.enum, this.#errors);
    if (isJsonObject(value)) yield* this.#objectResumable(node, value, old);
    if (old !== undefined) this.#forgive(value, old, errorsBefore, differencesBefore);
  }

  *#arrayResumable(
    node: SchemaNode,
    value: readonly JsonValue[],
    old: JsonValue | undefined,
  ): Resumable<void> {
    const { items } = node;
    const oldItems = items === undefined ? undefined : correlateItems(node, old);
    for (let i = 0; items !== undefined && i < value.length; i++) {
      const item = value[i] as JsonValue;
      this.#errors.path.push(i);
      if (isCut(items, item)) yield* this.validateResumable(items, item, oldItems?.get(item));
      else this.validate(items, item, oldItems?.get(item));
      this.#errors.path.pop();
      if (this.#isTime()) yield;
    }
    this.#items(node, value);
  }

  *#objectResumable(
    node: SchemaNode,
    value: JsonObject,
    old: JsonValue | undefined,
  ): Resumable<void> {
    const keys = Object.keys(value);
    if (node.checks !== undefined) this.#size(node.checks, keys.length);
    for (const key of keys) {
      const child = this.#member(node, key);
      if (child === undefined) continue;
      const member = value[key] as JsonValue;
      const oldMember = old === undefined ? undefined : this.#oldMember(old, key);
      this.#errors.path.push(key);
      if (isCut(child, member)) yield* this.validateResumable(child, member, oldMember);
      else this.validate(child, member, oldMember);
      this.#errors.path.pop();
      if (this.#isTime()) yield;
    }
    if (node.checks !== undefined) this.#required(node.checks, value);
  }

  /** Where the value and the old one are equal, the errors of the value are dropped. */
  #forgive(value: JsonValue, old: JsonValue, errorsBefore: number, differences: number): void {
    if (this.#errors.length === errorsBefore || this.#differences !== differences) return;
    if (jsonEqual(old, value)) this.#errors.truncate(errorsBefore);
    else this.#differences++;
  }

  #apply(node: SchemaNode, value: JsonValue, old: JsonValue | undefined): number {
    this.#step();
    const { checks } = node;
    if (value === null) return this.#null(node);
    let matches = this.#type(node, value);
    if (checks !== undefined && hasAlternatives(checks)) {
      const outer = this.#alternativesEnd;
      this.#alternativesEnd = outer ?? this.#done() + alternativeStepsMax;
      matches += this.#junctors(checks, value);
      this.#alternativesEnd = outer;
    }
    if (typeof value === "string") matches += 1 + this.#string(node, value);
    else if (typeof value === "number" || typeof value === "bigint") {
      checkNumber(value, kindOf(value), node, this.#errors);
      matches += 2;
    } else if (Array.isArray(value)) matches += 2 + this.#array(node, value, old);
    if (checks?.enum !== undefined) checkEnum(value, checks.enum, this.#errors);
    if (isJsonObject(value)) matches += 1 + this.#object(node, value, old);
    return matches;
  }

  #step(): void {
    if (++this.#steps > validationStepsMax)
      throw new SchemaLimitError(
        `validating the object takes more than ${validationStepsMax} steps`,
      );
    if (this.#alternativesEnd !== undefined && this.#done() > this.#alternativesEnd)
      throw new SchemaLimitError(
        `trying the alternatives of one value takes more than ${alternativeStepsMax} steps`,
      );
  }

  #done(): number {
    return this.#steps + this.#patternWork / patternWorkOfStep;
  }

  #isTime(): boolean {
    const done = this.#done();
    if (done < this.#restAt) return false;
    this.#restAt = done + validationStepsPerYield;
    return true;
  }

  #null({ types, nullable, typeText, checks }: SchemaNode): number {
    const allowed = types === 0 || nullable;
    if (!allowed) this.#errors.wrongType(typeText, "null");
    if (checks?.enum !== undefined) checkEnum(null, checks.enum, this.#errors);
    return allowed ? 1 : 0;
  }

  #type(node: SchemaNode, value: Exclude<JsonValue, null>): number {
    if (node.types === 0 && node.format === "") return 4;
    return 4 + (checkType(node, kindOf(value), value, this.#errors) ? 2 : 1);
  }

  #string(node: SchemaNode, text: string): number {
    const { checks, format } = node;
    if (checks !== undefined && checkString(text, checks, this.#errors) && checks.pattern)
      this.#pattern(text, checks.pattern);
    if (format === "" || formatCheck(format) === undefined) return 0;
    checkFormat(text, format, this.#errors);
    return 1;
  }

  #pattern(text: string, lazy: LazyPattern): void {
    const pattern = lazy.get();
    if (pattern instanceof Error) {
      const reason = `${lazy.source}, but pattern is invalid: ${pattern.message}`;
      this.#errors.invalid(text, `should match '${reason}'`);
      return;
    }
    this.#patternWork += text.length * pattern.instructions;
    if (this.#patternWork > patternWorkMax)
      throw new SchemaLimitError(
        `matching the object's texts with patterns takes more than ${patternWorkMax} steps`,
      );
    if (!pattern.test(text)) this.#errors.invalid(text, `should match '${pattern.source}'`);
  }

  #array(node: SchemaNode, value: readonly JsonValue[], old: JsonValue | undefined): number {
    const { items } = node;
    let matches = 0;
    if (items !== undefined) {
      const oldItems = correlateItems(node, old);
      for (let i = 0; i < value.length; i++) {
        const item = value[i] as JsonValue;
        const plain = plainMatches(items.plain, item);
        if (plain > 0) {
          this.#steps++;
          matches += plain;
          continue;
        }
        this.#errors.path.push(i);
        matches += this.validate(items, item, oldItems.get(item));
        this.#errors.path.pop();
      }
    }
    this.#items(node, value);
    return matches;
  }

  #items({ checks }: SchemaNode, value: readonly JsonValue[]): void {
    if (checks === undefined) return;
    const { minItems, maxItems, uniqueItems } = checks;
    const errors = this.#errors;
    if (minItems !== undefined && value.length < minItems)
      errors.invalid(value.length, `should have at least ${minItems} items`);
    if (maxItems !== undefined && value.length > maxItems)
      errors.tooMany(value.length, maxItems, "items");
    if (uniqueItems && new Set(value.map(canonicalJson)).size < value.length)
      errors.invalid("", "shouldn't contain duplicates");
  }

  #object(node: SchemaNode, value: JsonObject, old: JsonValue | undefined): number {
    const keys = Object.keys(value);
    if (node.checks !== undefined) this.#size(node.checks, keys.length);
    let matches = 0;
    for (const key of keys) {
      const child = this.#member(node, key);
      if (child === undefined) continue;
      const plain = plainMatches(child.plain, value[key] as JsonValue);
      if (plain > 0) {
        this.#steps++;
        matches += plain;
        continue;
      }
      const oldMember = old === undefined ? undefined : this.#oldMember(old, key);
      this.#errors.path.push(key);
      matches += this.validate(child, value[key] as JsonValue, oldMember);
      this.#errors.path.pop();
    }
    if (node.checks !== undefined) this.#required(node.checks, value);
    return matches;
  }

  /** The schema of a member; undefined if any value is allowed. */
  #member({ properties, additional }: SchemaNode, key: string): SchemaNode | undefined {
    const child = properties?.get(key);
    if (child !== undefined) return child;
    if (additional === false) this.#errors.forbiddenProperty(key);
    return typeof additional === "object" ? additional : undefined;
  }

  #oldMember(old: JsonValue, key: string): JsonValue | undefined {
    if (!isJsonObject(old) || !Object.hasOwn(old, key)) return undefined;
    // Changes of apiVersion and kind are not visible here: old and new were converted to the same
    // version.
    const isRoot = this.#errors.path.length === 0;
    return isRoot && (key === "kind" || key === "apiVersion") ? undefined : old[key];
  }

  #required(checks: ValueChecks, value: JsonObject): void {
    for (const name of checks.required)
      if (!Object.hasOwn(value, name)) this.#errors.required(name);
  }

  #size(checks: ValueChecks, size: number): void {
    const { minProperties, maxProperties } = checks;
    if (minProperties !== undefined && size < minProperties)
      this.#errors.invalid(size, `should have at least ${minProperties} properties`);
    if (maxProperties !== undefined && size > maxProperties)
      this.#errors.tooMany(size, maxProperties, "properties");
  }

  #junctors(checks: ValueChecks, value: JsonValue): number {
    let matches = 0;
    if (checks.anyOf.length > 0) matches += this.#anyOf(checks.anyOf, value);
    if (checks.oneOf.length > 0) matches += this.#oneOf(checks.oneOf, value);
    if (checks.allOf.length > 0) matches += this.#allOf(checks.allOf, value);
    if (checks.not !== undefined && this.#try(checks.not, value).valid)
      this.#errors.untied((name) => `${quote(name)} must not validate the schema (not)`);
    return matches;
  }

  #anyOf(branches: readonly SchemaNode[], value: JsonValue): number {
    let best: Attempt | undefined;
    for (const node of branches) {
      const attempt = this.#try(node, value);
      if (attempt.valid) return attempt.matches;
      if (best === undefined || attempt.matches > best.matches) best = attempt;
    }
    this.#errors.untied((name) => `${quote(name)} must validate at least one schema (anyOf)`);
    return this.#report(best, value);
  }

  #oneOf(branches: readonly SchemaNode[], value: JsonValue): number {
    let best: Attempt | undefined;
    let first: Attempt | undefined;
    let valid = 0;
    for (const node of branches) {
      const attempt = this.#try(node, value);
      if (attempt.valid) {
        valid++;
        first ??= attempt;
      } else if (valid === 0 && (best === undefined || attempt.matches > best.matches)) {
        best = attempt;
      }
    }
    if (valid === 1 && first !== undefined) return first.matches;
    const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
    this.#errors.untied(
      (name) => `${quote(name)} must validate one and only one schema (oneOf). ${found}`,
    );
    return valid === 0 ? this.#report(best, value) : 0;
  }

  #allOf(branches: readonly SchemaNode[], value: JsonValue): number {
    let matches = 0;
    let valid = 0;
    for (const node of branches) {
      const before = this.#errors.length;
      matches += this.validate(node, value, undefined);
      if (this.#errors.length === before) valid++;
    }
    if (valid !== branches.length) {
      const none = valid === 0 ? ". None validated" : "";
      this.#errors.untied((name) => `${quote(name)} must validate all the schemas (allOf)${none}`);
    }
    return matches;
  }

  /** Whether an alternative matches, without recording the errors. */
  #try(node: SchemaNode, value: JsonValue): Attempt {
    const errors = this.#errors;
    const before = errors.length;
    const wasQuiet = errors.quiet;
    errors.quiet = true;
    const matches = this.validate(node, value, undefined);
    errors.quiet = wasQuiet;
    const valid = errors.length === before;
    if (!valid) errors.truncate(before);
    return { node, matches, valid };
  }

  /** Reports the errors of the alternative that came closest, by validating it once more. */
  #report(attempt: Attempt | undefined, value: JsonValue): number {
    if (attempt === undefined) return 0;
    return this.#errors.quiet ? attempt.matches : this.validate(attempt.node, value, undefined);
  }
}

/**
 * Whether yielding within the value is worthwhile, and possible; reads no more of it than needed.
 */
function isCut({ checks }: SchemaNode, value: JsonValue): value is JsonArray | JsonObject {
  if (typeof value !== "object" || value === null) return false;
  if (checks !== undefined && hasAlternatives(checks)) return false;
  return exceededLimit(value, largeValue) !== undefined;
}

const largeValue = { valuesMax: 1_000, membersMax: 1_000 };

function hasAlternatives({ anyOf, oneOf, allOf, not }: ValueChecks): boolean {
  return anyOf.length > 0 || oneOf.length > 0 || allOf.length > 0 || not !== undefined;
}

interface Attempt {
  readonly node: SchemaNode;
  readonly matches: number;
  readonly valid: boolean;
}
