/**
 * Reads header blocks (HPACK, RFC 7541) with the table that both ends of a connection keep in step.
 *
 * A field is checked once, when its text arrives; what comes by number later is the same object again. So is what a client never wants in the
 * table and sends with every request, which is how many of them send tokens.
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

/** The longest literal that is remembered, as it is sent. Tokens of service accounts have less than a thousand bytes. */
export const rememberedLiteralBytesMax = 4096;

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
  #remembered: RememberedLiteral | undefined;

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
      else if (byte < 0x10) take(this.#literal(4));
      else if (byte < 0x20) take(this.#neverKept());
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
    return this.#literalOf(this.#integer(prefixBits));
  }

  #literalOf(index: number): HeaderField {
    const name = index === 0 ? this.#string() : this.#field(index).name;
    return field(name, this.#string());
  }

  /**
   * A token that comes again is the text that it was: its code is not read, and its hash not computed anew. How long the comparison takes
   * is no way to guess it: a guess takes the place of what it was compared with.
   */
  #neverKept(): HeaderField {
    const from = this.#at;
    const known = this.#remembered;
    if (known !== undefined) {
      const to = from + known.bytes.length;
      if (to <= this.#end && this.#block.compare(known.bytes, 0, undefined, from, to) === 0) {
        this.#at = to;
        return known.field;
      }
    }
    const index = this.#integer(4);
    const found = this.#literalOf(index);
    const length = this.#at - from;
    // Numbers beyond the static table are of what is in the table now.
    const isLasting = index <= staticFields.length;
    if (isLasting && length >= rememberedLiteralBytesMin && length <= rememberedLiteralBytesMax) {
      this.#remembered = {
        bytes: Buffer.from(this.#block.subarray(from, this.#at)),
        field: found,
      };
    }
    return found;
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

interface RememberedLiteral {
  /** All of it: the number of its name, its code, its length and its text. */
  readonly bytes: Buffer;
  readonly field: HeaderField;
}

/** Shorter ones are as soon read as compared. */
const rememberedLiteralBytesMin = 32;

function field(name: string, value: string): HeaderField {
  const isValid = namePattern.test(name) && !badValuePattern.test(value);
  return { name, value, bytes: name.length + value.length + fieldOverheadBytes, isValid };
}

function broken(message: string): ConnectionError {
  return new ConnectionError(errorCode.compressionError, message);
}

const truncated = () => broken("a header block that ends too early");
