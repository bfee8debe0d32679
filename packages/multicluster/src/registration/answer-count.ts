/** Counts what an answer of a cluster has in it while it comes, before anybody makes something of it: bytes, and JSON values by the signs that part them. */
import { type Bound, BoundExceededError } from "@kcp-ts/machinery/bounds";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const newline = 0x0a;

export class ResponseSizeCounter {
  readonly #bound: Bound;
  /** Each line is an answer of its own: the events of a watch. */
  readonly #isByLine: boolean;
  #bytes = 0;
  /** Never fewer than there are: one for each container, and for each comma in one. */
  #values = 1;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;

  constructor(bound: Bound, isByLine = false) {
    this.#bound = bound;
    this.#isByLine = isByLine;
  }

  /** Throws BoundExceededError when it is too much. */
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
