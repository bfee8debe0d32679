/**
 * A value against its schema, with the verdicts, texts and match counts of kube-openapi, and the ratcheting of Kubernetes.
 *
 * Ratcheting: where the old value is known and equal to the new one, everything said about the value is forgiven. Old values are found by
 * field name and, in lists of type map, by key. Inside oneOf, anyOf, allOf and not nothing is forgiven, as upstream.
 */
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "../json/index.ts";
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
import { EnoughErrors, ErrorCollector } from "./error-collector.ts";
import { formatCheck } from "./formats.ts";
import { patternWorkMax, SchemaLimitError, validationStepsMax } from "./limits.ts";
import { correlateItems } from "./list-correlation.ts";
import type { LazyPattern, SchemaNode, ValueChecks } from "./schema-node.ts";

/**
 * The errors of a value. `base` is where it stands in its object, for the paths of the errors.
 */
export function validateValue(
  node: SchemaNode,
  value: JsonValue,
  { old, base = "" }: { readonly old?: JsonValue | undefined; readonly base?: string } = {},
): FieldError[] {
  const errors = new ErrorCollector(base, { isFinal: old === undefined });
  try {
    new ValueValidator(errors).validate(node, value, old);
  } catch (error) {
    if (!(error instanceof EnoughErrors)) throw error;
  }
  return errors.length === 0 ? [] : errors.fieldErrors();
}

class ValueValidator {
  readonly #errors: ErrorCollector;
  #steps = 0;
  #patternWork = 0;
  /** Counts correlated values found to differ from their old ones: an ancestor of such a value differs too. */
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
    if (this.#errors.length > errorsBefore && this.#differences === differencesBefore) {
      if (jsonEqual(old, value)) this.#errors.truncate(errorsBefore);
      else this.#differences++;
    }
    return matches;
  }

  #apply(node: SchemaNode, value: JsonValue, old: JsonValue | undefined): number {
    if (++this.#steps > validationStepsMax)
      throw new SchemaLimitError(
        `validating the object takes more than ${validationStepsMax} steps`,
      );
    const errors = this.#errors;
    const checks = node.checks;
    if (value === null) {
      const allowed = node.types === 0 || node.nullable;
      if (!allowed) errors.wrongType(node.typeText, "null");
      if (checks?.enum !== undefined) checkEnum(null, checks.enum, errors);
      return allowed ? 1 : 0;
    }
    const kind = kindOf(value);
    let matches = 4;
    if (node.types !== 0 || node.format !== "")
      matches += checkType(node, kind, value, errors) ? 2 : 1;
    if (checks !== undefined) matches += this.#junctors(checks, value);
    if (typeof value === "string") matches += 1 + this.#string(node, value);
    else if (typeof value === "number" || typeof value === "bigint") {
      checkNumber(value, kind, node, errors);
      matches += 2;
    } else if (Array.isArray(value)) matches += 2 + this.#array(node, value, old);
    if (checks?.enum !== undefined) checkEnum(value, checks.enum, errors);
    if (isJsonObject(value)) matches += 1 + this.#object(node, value, old);
    return matches;
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
    const errors = this.#errors;
    let matches = 0;
    const items = node.items;
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
        errors.path.push(i);
        matches += this.validate(items, item, oldItems.get(item));
        errors.path.pop();
      }
    }
    const checks = node.checks;
    if (checks === undefined) return matches;
    const { minItems, maxItems } = checks;
    if (minItems !== undefined && value.length < minItems)
      errors.invalid(value.length, `should have at least ${minItems} items`);
    if (maxItems !== undefined && value.length > maxItems)
      errors.tooMany(value.length, maxItems, "items");
    if (checks.uniqueItems && new Set(value.map(canonicalJson)).size < value.length)
      errors.invalid("", "shouldn't contain duplicates");
    return matches;
  }

  #object(node: SchemaNode, value: JsonObject, old: JsonValue | undefined): number {
    const errors = this.#errors;
    const oldObject = isJsonObject(old) ? old : undefined;
    const isRoot = errors.path.length === 0;
    const { properties, additional, checks } = node;
    const keys = Object.keys(value);
    if (checks !== undefined) this.#size(checks, keys.length);
    let matches = 0;
    for (const key of keys) {
      let child = properties?.get(key);
      if (child === undefined) {
        if (additional === false) errors.forbiddenProperty(key);
        if (typeof additional !== "object") continue;
        child = additional;
      }
      const plain = plainMatches(child.plain, value[key] as JsonValue);
      if (plain > 0) {
        this.#steps++;
        matches += plain;
        continue;
      }
      // Changes of apiVersion and kind are not visible here: old and new were converted to the same version.
      const correlates =
        oldObject !== undefined &&
        Object.hasOwn(oldObject, key) &&
        !(isRoot && (key === "kind" || key === "apiVersion"));
      errors.path.push(key);
      matches += this.validate(
        child,
        value[key] as JsonValue,
        correlates ? oldObject[key] : undefined,
      );
      errors.path.pop();
    }
    if (checks !== undefined) {
      for (const name of checks.required) {
        if (!Object.hasOwn(value, name)) errors.required(name);
      }
    }
    return matches;
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
      matches += this.#apply(node, value, undefined);
      if (this.#errors.length === before) valid++;
    }
    if (valid !== branches.length) {
      const none = valid === 0 ? ". None validated" : "";
      this.#errors.untied((name) => `${quote(name)} must validate all the schemas (allOf)${none}`);
    }
    return matches;
  }

  /** Whether an alternative holds, without writing down why not. */
  #try(node: SchemaNode, value: JsonValue): Attempt {
    const errors = this.#errors;
    const before = errors.length;
    const wasQuiet = errors.quiet;
    errors.quiet = true;
    const matches = this.#apply(node, value, undefined);
    errors.quiet = wasQuiet;
    const valid = errors.length === before;
    if (!valid) errors.truncate(before);
    return { node, matches, valid };
  }

  /** Says what is wrong with the alternative that came closest, by validating it once more. */
  #report(attempt: Attempt | undefined, value: JsonValue): number {
    if (attempt === undefined) return 0;
    return this.#errors.quiet ? attempt.matches : this.#apply(attempt.node, value, undefined);
  }
}

interface Attempt {
  readonly node: SchemaNode;
  readonly matches: number;
  readonly valid: boolean;
}
