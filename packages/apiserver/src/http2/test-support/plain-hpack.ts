/**
 * A literal implementation of HPACK (RFC 7541), bit by bit and without optimizations: the reference
 * for the decoder. For tests of this folder.
 */
import { staticTable } from "../hpack.ts";

export type Field = readonly [name: string, value: string];

/**
 * The lengths of the codes of appendix B, a base-36 digit for each symbol. The code is canonical:
 * nothing else is needed.
 */
const codeLengths =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6" +
  "f56565666577666567655677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn" +
  "qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu";

const codes = canonicalCodes();
const symbols = new Map(codes.map((code, symbol) => [code, symbol]));

function canonicalCodes(): string[] {
  const lengths = [...codeLengths].map((digit) => Number.parseInt(digit, 36));
  const order = lengths.map((_, symbol) => symbol);
  order.sort((a, b) => (lengths[a] as number) - (lengths[b] as number) || a - b);
  const found: string[] = [];
  let next = 0;
  let bits = 0;
  for (const symbol of order) {
    const length = lengths[symbol] as number;
    next *= 2 ** (length - bits);
    bits = length;
    found[symbol] = next.toString(2).padStart(length, "0");
    next++;
  }
  return found;
}

export function huffman(text: string): Buffer {
  const bits = [...Buffer.from(text, "latin1")].map((byte) => codes[byte] as string).join("");
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, "1");
  return Buffer.from((padded.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

function unhuffman(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const read: number[] = [];
  let code = "";
  for (const bit of bits) {
    code += bit;
    const symbol = symbols.get(code);
    if (symbol === undefined) continue;
    if (symbol === 256) throw new Error("the end of the string within it");
    read.push(symbol);
    code = "";
  }
  if (code.length > 7 || code.includes("0")) throw new Error("padding");
  return Buffer.from(read).toString("latin1");
}

/** Both sides keep a table. The newest entry is first. */
export class PlainTable {
  fields: Field[] = [];
  bytesMax = 4096;

  get bytes(): number {
    return this.fields.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
  }

  add(field: Field): void {
    this.fields.unshift(field);
    this.shrink();
  }

  shrink(): void {
    while (this.bytes > this.bytesMax) this.fields.pop();
  }

  at(index: number): Field {
    const all: readonly Field[] = [
      ...staticTable.map(([name, value]): Field => [name, value]),
      ...this.fields,
    ];
    const field = all[index - 1];
    if (field === undefined) throw new Error("no such number");
    return field;
  }
}

export class PlainDecoder {
  readonly table = new PlainTable();
  #rest: number[] = [];

  /**
   * Throws an Error of any kind when the block is malformed; the fields before the error have been
   * added to the table.
   */
  decode(block: Buffer): Field[] {
    this.#rest = [...block];
    const fields: Field[] = [];
    while (this.#rest.length > 0) {
      const first = this.#rest[0] as number;
      if (first >= 0x80) fields.push(this.table.at(this.#integer(7)));
      else if (first >= 0x40) {
        const field = this.#literal(6);
        this.table.add(field);
        fields.push(field);
      } else if (first >= 0x20) {
        if (fields.length > 0) throw new Error("a table size after a header");
        const size = this.#integer(5);
        if (size > 4096) throw new Error("a table that is too large");
        this.table.bytesMax = size;
        this.table.shrink();
      } else fields.push(this.#literal(4));
    }
    return fields;
  }

  #literal(prefix: number): Field {
    const index = this.#integer(prefix);
    const name = index === 0 ? this.#string() : this.table.at(index)[0];
    return [name, this.#string()];
  }

  #string(): string {
    const isHuffman = (this.#rest[0] ?? 0) >= 0x80;
    const length = this.#integer(7);
    if (length > this.#rest.length) throw new Error("a text that is cut off");
    const bytes = Buffer.from(this.#rest.splice(0, length));
    return isHuffman ? unhuffman(bytes) : bytes.toString("latin1");
  }

  #integer(prefix: number): number {
    const max = 2 ** prefix - 1;
    let value = this.#byte() % (max + 1);
    if (value < max) return value;
    // No number here needs more bytes.
    for (let at = 0; at < 4; at++) {
      const byte = this.#byte();
      value += (byte % 128) * 128 ** at;
      if (byte < 128) return value;
    }
    throw new Error("a number without end");
  }

  #byte(): number {
    const byte = this.#rest.shift();
    if (byte === undefined) throw new Error("a block that is cut off");
    return byte;
  }
}
