/**
 * The errors of one validation, with the texts of kube-openapi: `<path> in body <error>`.
 *
 * Kubernetes validates with one library and reports with another; the codes of the first determine
 * the field error of the second. Errors without a field in the first library (oneOf, ranges of
 * numbers) are reported at the root, with the path inside the text.
 */
import type { JsonValue } from "../json/index.ts";
import { type FieldError, fieldError, quote, shownText } from "../status/index.ts";
import { errorsHeldMax, errorsMax, SchemaLimitError } from "./limits.ts";
import { dottedPath, type PathSegment } from "./value-path.ts";

interface Held {
  /** Equal texts are reported once. */
  readonly text: string;
  readonly error: FieldError;
}

/** Ends a validation that has found as many errors as are reported. */
export class ErrorLimitReached extends Error {
  override readonly name = "ErrorLimitReached";
}

export class ErrorCollector {
  readonly path: PathSegment[] = [];
  readonly #held: Held[] = [];
  readonly #base: string;

  readonly #isFinal: boolean;

  /**
   * `base` is the path of the validated value in its object: `""`, or `status`. With `isFinal` no
   * collected error will be ratcheted later, so further errors need not be found once the limit is
   * reached.
   */
  constructor(base: string, { isFinal }: { readonly isFinal: boolean }) {
    this.#base = base;
    this.#isFinal = isFinal;
  }

  /**
   * While silent, errors are counted and not formatted: alternatives mostly fail without being
   * reported.
   */
  quiet = false;
  /** The number of errors. */
  length = 0;

  /** Drops all errors after `length`. */
  truncate(length: number): void {
    this.length = length;
    if (this.#held.length > length) this.#held.length = length;
  }

  /** All errors, each text once. */
  fieldErrors(): FieldError[] {
    const unique = new Map<string, FieldError>();
    for (const { text, error } of this.#held) {
      if (!unique.has(text)) unique.set(text, error);
    }
    return [...unique.values()];
  }

  /** The path as it is written inside texts. */
  name(): string {
    return dottedPath(this.path);
  }

  wrongType(expected: string, found: string): void {
    if (this.#isQuiet()) return;
    const shown = shownText(found);
    const text = `${this.name()} in body must be of type ${expected}: ${quote(shown)}`;
    this.#hold(text, fieldError.typeInvalid(this.#field(), shown, text));
  }

  invalid(value: JsonValue, complaint: string): void {
    if (this.#isQuiet()) return;
    const text = `${this.name()} in body ${complaint}`;
    this.#hold(text, fieldError.invalid(this.#field(), truncatedValue(value), text));
  }

  forbiddenProperty(key: string): void {
    if (this.#isQuiet()) return;
    const text = `${this.name()}.${key} in body is a forbidden property`;
    this.#hold(text, fieldError.invalid(this.#field(), key, text));
  }

  notPositiveFactor(factor: string): void {
    if (this.#isQuiet()) return;
    const text = `factor MultipleOf declared for ${this.name()} must be positive: ${factor}`;
    this.#hold(text, fieldError.invalid(this.#field(), Number(factor), text));
  }

  required(key: string): void {
    if (this.#isQuiet()) return;
    this.path.push(key);
    this.#hold(`${this.name()} in body is required`, fieldError.required(this.#field()));
    this.path.pop();
  }

  unsupported(value: JsonValue, listed: () => string): void {
    if (this.#isQuiet()) return;
    const error = fieldError.notSupported(this.#field(), truncatedValue(value), []);
    const text = `${this.name()} in body should be one of the supported values`;
    this.#hold(text, { ...error, body: `${error.body}: ${listed()}` });
  }

  tooLong(charactersMax: number): void {
    if (this.#isQuiet()) return;
    this.#hold(
      `${this.name()} in body should be at most ${charactersMax} chars long`,
      fieldError.tooLong(this.#field(), charactersMax),
    );
  }

  tooMany(actual: number, max: number, noun: "items" | "properties"): void {
    if (this.#isQuiet()) return;
    this.#hold(
      `${this.name()} in body should have at most ${max} ${noun}`,
      fieldError.tooMany(this.#field(), actual, max),
    );
  }

  /** An error that upstream reports without a field. */
  untied(what: (name: string) => string): void {
    if (this.#isQuiet()) return;
    const text = what(this.name());
    const field = this.#base === "" ? "<nil>" : this.#base;
    this.#hold(text, fieldError.invalid(field, "", text));
  }

  #field(): string {
    const name = this.name();
    if (this.#base === "") return name === "" ? "<nil>" : name;
    return name === "" ? this.#base : `${this.#base}.${name}`;
  }

  #isQuiet(): boolean {
    this.length++;
    return this.quiet;
  }

  #hold(text: string, error: FieldError): void {
    if (this.#held.length >= errorsHeldMax)
      throw new SchemaLimitError(`the object has more than ${errorsHeldMax} errors`);
    this.#held.push({ text, error });
    if (this.#isFinal && this.#held.length >= errorsMax) throw new ErrorLimitReached();
  }
}

/** Quoting megabytes of a tenant's text would take seconds. */
export function truncatedValue(value: JsonValue): JsonValue {
  return typeof value === "string" ? shownText(value) : value;
}
