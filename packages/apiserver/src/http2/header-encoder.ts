/**
 * Writes header blocks (HPACK, RFC 7541). What is the same in many answers is sent once per connection and by number after that.
 */
import { fieldOverheadBytes } from "./protocol.ts";
import { staticTable } from "./static-table.ts";

/** Different in every answer: keeping them would only push out what is worth keeping. */
const passingNames = new Set(["audit-id", "content-length", "etag", "location", "warning"]);

const tableBytesDefault = 4096;

/** Numbers by name and value, without a key made of both: this is done for every header of every answer. */
type Numbers = Map<string, Map<string, number>>;

const staticNames = new Map<string, number>();
const staticPairs: Numbers = new Map();
staticTable.forEach(([name, value], at) => {
  if (!staticNames.has(name)) staticNames.set(name, at + 1);
  if (value !== "") put(staticPairs, name, value, at + 1);
});

/** Blocks are put together here, one at a time, and copied to where they are sent from. */
let scratch = Buffer.allocUnsafeSlow(4096);

export class HeaderEncoder {
  /** What the peer has in its table: how many were added before it. */
  readonly #kept: Numbers = new Map();
  /** The same, the oldest first. */
  readonly #order: (readonly [name: string, value: string])[] = [];
  #tableBytes = 0;
  #tableBytesMax = tableBytesDefault;
  #added = 0;
  /** The peer asked for another size, which the next block must confirm. */
  #resizedTo: number | undefined;
  #length = 0;

  /** The peer's table may hold this much. We never use more than the default. */
  resize(bytesMax: number): void {
    this.#tableBytesMax = Math.min(bytesMax, tableBytesDefault);
    this.#resizedTo = Math.min(this.#tableBytesMax, this.#resizedTo ?? this.#tableBytesMax);
    this.#evict(0);
  }

  /** The block, valid until the next call. */
  encode(
    status: number,
    headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  ): Buffer {
    this.#length = 0;
    if (this.#resizedTo !== undefined) this.#confirmSize(this.#resizedTo);
    this.#write(":status", String(status));
    for (const name in headers) {
      const value = headers[name];
      if (typeof value === "string") this.#write(name, value);
      else if (value !== undefined) for (const each of value) this.#write(name, each);
    }
    return scratch.subarray(0, this.#length);
  }

  /** The smallest size that was asked for since the last block, then the one that holds (RFC 7541, 4.2). */
  #confirmSize(smallest: number): void {
    this.#resizedTo = undefined;
    this.#reserve(16);
    if (smallest < this.#tableBytesMax) this.#integer(smallest, 5, 0x20);
    this.#integer(this.#tableBytesMax, 5, 0x20);
  }

  #write(name: string, value: string): void {
    this.#reserve(name.length + value.length + 16);
    const known = staticPairs.get(name)?.get(value);
    if (known !== undefined) {
      this.#integer(known, 7, 0x80);
      return;
    }
    const kept = this.#kept.get(name)?.get(value);
    if (kept !== undefined) {
      this.#integer(staticTable.length + this.#added - kept, 7, 0x80);
      return;
    }
    const nameIndex = staticNames.get(name) ?? 0;
    if (!passingNames.has(name) && this.#keep(name, value)) this.#integer(nameIndex, 6, 0x40);
    else this.#integer(nameIndex, 4, 0);
    if (nameIndex === 0) this.#string(name);
    this.#string(value);
  }

  #keep(name: string, value: string): boolean {
    const bytes = fieldBytes(name, value);
    if (bytes > this.#tableBytesMax) return false;
    this.#evict(bytes);
    put(this.#kept, name, value, this.#added++);
    this.#order.push([name, value]);
    this.#tableBytes += bytes;
    return true;
  }

  /** Makes room for so many bytes. */
  #evict(bytes: number): void {
    while (this.#tableBytes + bytes > this.#tableBytesMax) {
      const oldest = this.#order.shift();
      if (oldest === undefined) return;
      const [name, value] = oldest;
      this.#kept.get(name)?.delete(value);
      this.#tableBytes -= fieldBytes(name, value);
    }
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= scratch.length) return;
    const larger = Buffer.allocUnsafeSlow((this.#length + bytes) * 2);
    scratch.copy(larger, 0, 0, this.#length);
    scratch = larger;
  }

  #integer(value: number, prefixBits: number, pattern: number): void {
    const mask = (1 << prefixBits) - 1;
    if (value < mask) {
      scratch[this.#length++] = pattern | value;
      return;
    }
    scratch[this.#length++] = pattern | mask;
    let rest = value - mask;
    for (; rest >= 0x80; rest >>>= 7) scratch[this.#length++] = (rest & 0x7f) | 0x80;
    scratch[this.#length++] = rest;
  }

  #string(text: string): void {
    this.#integer(text.length, 7, 0);
    this.#length += scratch.write(text, this.#length, "latin1");
  }
}

function fieldBytes(name: string, value: string): number {
  return name.length + value.length + fieldOverheadBytes;
}

function put(numbers: Numbers, name: string, value: string, index: number): void {
  const ofName = numbers.get(name);
  if (ofName === undefined) numbers.set(name, new Map([[value, index]]));
  else ofName.set(value, index);
}
