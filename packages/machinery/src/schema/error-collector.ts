/**
 * The errors of one validation, in the words of kube-openapi: `<path> in body <what is wrong>`.
 *
 * Kubernetes validates with one library and reports with another; the codes of the first decide the field error of the second. Errors that
 * the first library does not tie to a field (oneOf, ranges of numbers) are reported at the root, with the path inside the text.
 */
import type { JsonValue } from "../json/index.ts";
import { type FieldError, fieldError, quote } from "../status/index.ts";
import { errorsHeldMax, SchemaLimitError } from "./limits.ts";
import { dottedPath, type PathSegment } from "./value-path.ts";

interface Held {
  /** Equal texts are reported once. */
  readonly text: string;
  readonly error: FieldError;
}

export class ErrorCollector {
  readonly path: PathSegment[] = [];
  readonly #held: Held[] = [];
  readonly #base: string;

  /** `base` is where the validated value stands in its object: `""`, or `status`. */
  constructor(base: string) {
    this.#base = base;
  }

  /** While quiet, errors are counted and not written down: alternatives mostly fail without anybody wanting to know why. */
  quiet = false;
  #count = 0;

  get length(): number {
    return this.#count;
  }

  /** Forgets everything behind `length`. */
  truncate(length: number): void {
    this.#count = length;
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

  /** The path as it stands inside texts. */
  name(): string {
    return dottedPath(this.path);
  }

  wrongType(expected: string, found: string): void {
    if (this.#isQuiet()) return;
    const text = `${this.name()} in body must be of type ${expected}: ${quote(found)}`;
    this.#hold(text, fieldError.typeInvalid(this.#field(), found, text));
  }

  invalid(value: JsonValue, complaint: string): void {
    if (this.#isQuiet()) return;
    const text = `${this.name()} in body ${complaint}`;
    this.#hold(text, fieldError.invalid(this.#field(), value, text));
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

  unsupported(value: JsonValue, supported: readonly string[]): void {
    if (this.#isQuiet()) return;
    this.#hold(
      `${this.name()} in body should be one of [${supported.join(" ")}]`,
      fieldError.notSupported(this.#field(), value, supported),
    );
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

  /** An error that upstream does not tie to a field. */
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
    this.#count++;
    return this.quiet;
  }

  #hold(text: string, error: FieldError): void {
    if (this.#held.length >= errorsHeldMax)
      throw new SchemaLimitError(`the object has more than ${errorsHeldMax} errors`);
    this.#held.push({ text, error });
  }
}
