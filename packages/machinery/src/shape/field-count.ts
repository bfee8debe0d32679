/** Counts the fields of a protobuf body, over all its messages, before they are decoded. */
import type { Resumable } from "../base/index.ts";
import {
  type Bound,
  BoundExceededError,
  bounds,
  isBoundExceeded,
  parseBoundedResumable,
} from "../bounds/index.ts";
import type { JsonValue } from "../json/index.ts";
import type { WireReader } from "./wire-reader.ts";

export class FieldCount {
  readonly #bound: Bound;
  #left: number;

  constructor(bound: Bound = bounds.requestBody) {
    this.#bound = bound;
    this.#left = bound.valuesMax;
  }

  /** Fields on the wire, and values of JSON, that were read. */
  get counted(): number {
    return this.#bound.valuesMax - this.#left;
  }

  /**
   * Counts a field of a message that ends at the given index. Throws BoundExceededError at the
   * first field over the bound.
   */
  next(reader: WireReader, end: number): void {
    reader.next(end);
    this.#take(1);
  }

  *json(text: string): Resumable<JsonValue> {
    try {
      const bound = { ...this.#bound, valuesMax: this.#left };
      const { value, values } = yield* parseBoundedResumable(bound, text);
      this.#take(values);
      return value;
    } catch (error) {
      // The bound applies to the complete body.
      if (isBoundExceeded(error) && error.dimension === "values") this.#take(this.#left + 1);
      throw error;
    }
  }

  /** Throws when a map has more entries than one object may have members. */
  member(count: number): void {
    const { membersMax } = this.#bound;
    if (count > membersMax) throw new BoundExceededError(this.#bound, "members", membersMax);
  }

  #take(values: number): void {
    this.#left -= values;
    if (this.#left < 0) throw new BoundExceededError(this.#bound, "values", this.#bound.valuesMax);
  }
}
