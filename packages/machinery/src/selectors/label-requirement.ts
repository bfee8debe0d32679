/** One requirement on one label, as `tier in (web,db)`. A selector is the AND of these. */
import { labelValueErrors, qualifiedNameErrors } from "../names/index.ts";
import { aggregate, type FieldError, fieldError, formatFieldError } from "../status/index.ts";
import { SelectorSyntaxError } from "./syntax-error.ts";

export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

export type Labels = Readonly<Record<string, string>>;

/** Throws `SelectorSyntaxError` with all errors of the requirement. */
export function newLabelRequirement(
  key: string,
  operator: LabelOperator,
  values: readonly string[],
): LabelRequirement {
  const errors = [
    ...keyErrors("key", key),
    ...countErrors(operator, values),
    ...valueErrors(key, values),
  ];
  if (errors.length > 0) throw new SelectorSyntaxError(aggregate(errors.map(formatFieldError)));
  return { key, operator, values };
}

export function keyErrors(field: string, key: string): FieldError[] {
  const messages = qualifiedNameErrors(key);
  return messages.length === 0 ? [] : [fieldError.invalid(field, key, messages.join("; "))];
}

/** Each message is far longer than the value it is about, so only the first few are shown. */
const valueErrorsMax = 20;

function valueErrors(key: string, values: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, value] of values.entries()) {
    const messages = labelValueErrors(value);
    if (messages.length === 0) continue;
    errors.push(fieldError.invalid(`values[${i}][${key}]`, value, messages.join("; ")));
    if (errors.length === valueErrorsMax) break;
  }
  return errors;
}

/** A matcher that looks at one label. `!=` and `notin` also hold for objects without the label. */
export function compileRequirement({ key, operator, values }: LabelRequirement): Matcher {
  const first = values[0] as string;
  switch (operator) {
    case "=":
    case "==":
      return (labels) => Object.hasOwn(labels, key) && labels[key] === first;
    case "!=":
      return (labels) => !Object.hasOwn(labels, key) || labels[key] !== first;
    case "exists":
      return (labels) => Object.hasOwn(labels, key);
    case "!":
      return (labels) => !Object.hasOwn(labels, key);
    case "in":
    case "notin": {
      const set = new Set(values);
      return operator === "in"
        ? (labels) => Object.hasOwn(labels, key) && set.has(labels[key] as string)
        : (labels) => !Object.hasOwn(labels, key) || !set.has(labels[key] as string);
    }
    case "gt":
    case "lt": {
      const bound = parseInt64(first) as bigint;
      return (labels) => {
        const value = Object.hasOwn(labels, key) ? parseInt64(labels[key] as string) : undefined;
        return value !== undefined && (operator === "gt" ? value > bound : value < bound);
      };
    }
  }
}

export type Matcher = (labels: Labels) => boolean;

/** The canonical text; parsing it gives an equal requirement. */
export function formatRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return `${key} ${operator} (${[...values].sort().join(",")})`;
    case "gt":
      return `${key}>${values[0]}`;
    case "lt":
      return `${key}<${values[0]}`;
    default:
      return `${key}${operator}${values[0]}`;
  }
}

function countErrors(operator: LabelOperator, values: readonly string[]): FieldError[] {
  switch (operator) {
    case "in":
    case "notin":
      return values.length > 0
        ? []
        : invalidValues(values, "for 'in', 'notin' operators, values set can't be empty");
    case "exists":
    case "!":
      return values.length === 0
        ? []
        : invalidValues(values, "values set must be empty for exists and does not exist");
    case "gt":
    case "lt":
      return integerErrors(values);
    default:
      return values.length === 1
        ? []
        : invalidValues(values, "exact-match compatibility requires one single value");
  }
}

function integerErrors(values: readonly string[]): FieldError[] {
  const errors =
    values.length === 1
      ? []
      : invalidValues(values, "for 'Gt', 'Lt' operators, exactly one value is required");
  for (const [i, value] of values.entries()) {
    if (parseInt64(value) !== undefined) continue;
    const detail = "for 'Gt', 'Lt' operators, the value must be an integer";
    errors.push(fieldError.invalid(`values[${i}]`, value, detail));
  }
  return errors;
}

function invalidValues(values: readonly string[], detail: string): FieldError[] {
  return [fieldError.invalid("values", values, detail)];
}

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;

/** Longer texts are no label values, so they are not worth the arithmetic. */
function parseInt64(text: string): bigint | undefined {
  if (text.length > 63 || !/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value >= int64Min && value <= int64Max ? value : undefined;
}
