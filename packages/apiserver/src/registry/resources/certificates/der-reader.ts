/** Parses DER, one level at a time: tags and lengths, without their meaning. */
export class DerError extends Error {
  override readonly name = "DerError";
}

export interface DerElement {
  /** With tag and length, as it is signed. */
  readonly whole: Buffer;
  readonly content: Buffer;
}

export class DerReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The next element, which must have this tag. */
  element(tag: number): DerElement {
    const start = this.#at;
    if (this.#byte() !== tag) throw new DerError("structure error: tags don't match");
    const length = this.#length();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new DerError("syntax error: data truncated");
    const content = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return { whole: this.#bytes.subarray(start, end), content };
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** The next element, with any tag. */
  any(): DerElement {
    return this.element(this.#bytes[this.#at] ?? -1);
  }

  sequence(): DerReader {
    return new DerReader(this.element(0x30).content);
  }

  #length(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw new DerError("structure error: length too large");
    let length = 0;
    for (let i = 0; i < count; i++) length = length * 256 + this.#byte();
    return length;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new DerError("syntax error: data truncated");
    return byte;
  }
}
