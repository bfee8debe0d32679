/**
 * Counts the content of a cluster's response while it arrives, before it is parsed: bytes, and JSON
 * values by their delimiters.
 */
import { type Bound, BoundExceededError } from "@kcp-ts/machinery/bounds";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const newline = 0x0a;

export class ResponseSizeCounter {
  readonly #bound: Bound;
  /** Each line is a response of its own: the events of a watch. */
  readonly #isByLine: boolean;
  #bytes = 0;
  /** An upper bound of the JSON values: one for each container, and one for each comma. */
  #values = 1;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;

  constructor(bound: Bound, isByLine = false) {
    this.#bound = bound;
    this.#isByLine = isByLine;
  }

  /** Throws BoundExceededError when the response exceeds its limit. */
  add(chunk: Uint8Array): void {
    const { bytesMax, valuesMax, depthMax } = this.#bound;
    let lineAt = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number;
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) this.#isInText = false;
      } else if (byte === quote) this.#isInText = true;
      else if (byte === comma) this.#values++;
      else if (byte === 0x7b || byte === 0x5b) {
        this.#values++;
        if (++this.#depth > depthMax) throw new BoundExceededError(this.#bound, "levels", depthMax);
      } else if (byte === 0x7d || byte === 0x5d) this.#depth--;
      if (byte === newline && this.#isByLine) {
        this.#begin();
        lineAt = i + 1;
      }
      if (this.#values > valuesMax) throw new BoundExceededError(this.#bound, "values", valuesMax);
    }
    this.#bytes += chunk.length - lineAt;
    if (this.#bytes > bytesMax) throw new BoundExceededError(this.#bound, "bytes", bytesMax);
  }

  #begin(): void {
    this.#bytes = 0;
    this.#values = 1;
    this.#depth = 0;
    this.#isInText = false;
    this.#isEscaped = false;
  }
}
