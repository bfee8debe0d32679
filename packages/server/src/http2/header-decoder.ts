/**
 * Reads header blocks (HPACK, RFC 7541) with the table that both ends of a connection keep in step.
 *
 * A field is checked once, when its text arrives; what comes by number later is the same object again.
 */
import { decodeHuffman } from "./huffman.ts";
import { ConnectionError, errorCode, fieldOverheadBytes } from "./protocol.ts";
import { staticTable } from "./static-table.ts";

export interface HeaderField {
  readonly name: string;
  /** One character per byte. */
  readonly value: string;
  /** What it counts for in tables and limits. */
  readonly bytes: number;
  /** Whether name and value may appear in HTTP/2 at all. */
  readonly isValid: boolean;
}

/** What we let the peer's table hold: the protocol's default, which we never change. */
export const decoderTableBytesMax = 4096;

/** RFC 9113, 8.2.1: names in lower case; values without line ends, and without spaces around them. */
const namePattern = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const badValuePattern = /[\0\r\n]|^[ \t]|[ \t]$/;

const staticFields: readonly HeaderField[] = staticTable.map(([name, value]) => field(name, value));

export class HeaderDecoder {
  /** The newest last. */
  readonly #table: HeaderField[] = [];
  #tableBytes = 0;
  #tableBytesMax = decoderTableBytesMax;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  /** Hands each field of the block to `take`; throws a ConnectionError when the block makes no sense. */
  decode(block: Buffer, take: (field: HeaderField) => void): void {
    this.#block = block;
    this.#at = 0;
    this.#end = block.length;
    let isFirst = true;
    while (this.#at < this.#end) {
      const byte = block[this.#at] as number;
      if (byte >= 0x80) take(this.#field(this.#integer(7)));
      else if (byte >= 0x40) take(this.#keep(this.#literal(6)));
      else if (byte < 0x20) take(this.#literal(4));
      else if (isFirst) {
        // Sizes may change between blocks only; there may be two changes.
        this.#resize(this.#integer(5));
        continue;
      } else throw broken("a table size inside a header block");
      isFirst = false;
    }
  }

  #field(index: number): HeaderField {
    const found =
      index <= staticFields.length
        ? staticFields[index - 1]
        : this.#table[this.#table.length - (index - staticFields.length)];
    if (found === undefined) throw broken("an unknown header number");
    return found;
  }

  #literal(prefixBits: number): HeaderField {
    const index = this.#integer(prefixBits);
    const name = index === 0 ? this.#string() : this.#field(index).name;
    return field(name, this.#string());
  }

  #keep(added: HeaderField): HeaderField {
    this.#tableBytes += added.bytes;
    this.#table.push(added);
    this.#evict();
    return added;
  }

  #resize(bytesMax: number): void {
    if (bytesMax > decoderTableBytesMax) throw broken("a table size beyond ours");
    this.#tableBytesMax = bytesMax;
    this.#evict();
  }

  #evict(): void {
    while (this.#tableBytes > this.#tableBytesMax)
      this.#tableBytes -= (this.#table.shift() as HeaderField).bytes;
  }

  #integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw broken("a number that is too large");
  }

  #string(): string {
    if (this.#at >= this.#end) throw truncated();
    const isHuffman = (this.#block[this.#at] as number) >= 0x80;
    const start = this.#integer(7);
    const from = this.#at;
    const to = from + start;
    if (to > this.#end) throw truncated();
    this.#at = to;
    return isHuffman
      ? decodeHuffman(this.#block, from, to)
      : this.#block.toString("latin1", from, to);
  }

  #byte(): number {
    if (this.#at >= this.#end) throw truncated();
    return this.#block[this.#at++] as number;
  }
}

function field(name: string, value: string): HeaderField {
  const isValid = namePattern.test(name) && !badValuePattern.test(value);
  return { name, value, bytes: name.length + value.length + fieldOverheadBytes, isValid };
}

function broken(message: string): ConnectionError {
  return new ConnectionError(errorCode.compressionError, message);
}

const truncated = () => broken("a header block that ends too early");
