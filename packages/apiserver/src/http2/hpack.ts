/**
 * Header compression of HTTP/2 (HPACK, RFC 7541): its tables, its Huffman code, encoder and
 * decoder.
 */
import { ConnectionError, errorCode, fieldOverheadBytes } from "./protocol.ts";

/** The static table of HPACK (RFC 7541, appendix A). The first entry has the index 1. */
export const staticTable: readonly (readonly [name: string, value: string])[] = [
  [":authority", ""],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  [":status", "200"],
  [":status", "204"],
  [":status", "206"],
  [":status", "304"],
  [":status", "400"],
  [":status", "404"],
  [":status", "500"],
  ["accept-charset", ""],
  ["accept-encoding", "gzip, deflate"],
  ...[
    "accept-language",
    "accept-ranges",
    "accept",
    "access-control-allow-origin",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "link",
    "location",
    "max-forwards",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "refresh",
    "retry-after",
    "server",
    "set-cookie",
    "strict-transport-security",
    "transfer-encoding",
    "user-agent",
    "vary",
    "via",
    "www-authenticate",
  ].map((name): readonly [string, string] => [name, ""]),
];

// The Huffman code of HPACK (RFC 7541, appendix B), decoding only: response headers are short or
// sent once per connection.
//
// The code is canonical, so that the symbols of each length, in order, define it.

/** Runs of symbols by the length of their code: single ones, and ranges with both ends included. */
const symbolsByLength: Readonly<Record<number, readonly (number | readonly [number, number])[]>> = {
  5: [[48, 50], 97, 99, 101, 105, 111, 115, 116],
  6: [32, 37, [45, 47], [51, 57], 61, 65, 95, 98, 100, [102, 104], [108, 110], 112, 114, 117],
  7: [58, [66, 87], 89, 106, 107, 113, [118, 122]],
  8: [38, 42, 44, 59, 88, 90],
  10: [33, 34, 40, 41, 63],
  11: [39, 43, 124],
  12: [35, 62],
  13: [0, 36, 64, 91, 93, 126],
  14: [94, 125],
  15: [60, 96, 123],
  19: [92, 195, 208],
  20: [128, 130, 131, 162, 184, 194, 224, 226],
  21: [153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230],
  22: [
    129,
    [132, 134],
    136,
    146,
    154,
    156,
    160,
    163,
    164,
    169,
    170,
    173,
    178,
    181,
    [185, 187],
    189,
    190,
    196,
    198,
    228,
    232,
    233,
  ],
  23: [
    1,
    135,
    [137, 141],
    143,
    147,
    [149, 152],
    155,
    157,
    158,
    165,
    166,
    168,
    174,
    175,
    180,
    182,
    183,
    188,
    191,
    197,
    231,
    239,
  ],
  24: [9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237],
  25: [199, 207, 234, 235],
  26: [192, 193, [200, 202], 205, 210, 213, 218, 219, 238, 240, 242, 243, 255],
  27: [203, 204, 211, 212, 214, [221, 223], 241, [244, 248], [250, 254]],
  28: [[2, 8], 11, 12, [14, 21], [23, 31], 127, 220, 249],
  30: [10, 13, 22, 256],
};

const endOfString = 256;

/**
 * A state machine that processes half a byte per step: `next[state * 16 + nibble]` is the next
 * state, and the byte that was completed on the way, if any (the shortest code has five bits, so
 * there is never more than one).
 */
interface Machine {
  readonly next: Uint16Array;
  /** The byte, plus one; 0 means none. */
  readonly emitted: Uint16Array;
  /** Whether a string may end here: only ones follow the last symbol, and fewer than eight. */
  readonly mayEnd: Uint8Array;
}

const dead = 0xffff;
let machine: Machine | undefined;
/** Grows to the longest string seen; a string is bounded by its header block. */
let decoded = Buffer.allocUnsafeSlow(1024);

export function decodeHuffman(bytes: Buffer, start: number, end: number): string {
  machine ??= buildMachine();
  const { next, emitted, mayEnd } = machine;
  const longest = Math.ceil(((end - start) * 8) / 5);
  if (decoded.length < longest) decoded = Buffer.allocUnsafeSlow(longest * 2);
  let state = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    for (let shift = 4; shift >= 0; shift -= 4) {
      const step = state * 16 + ((byte >> shift) & 15);
      state = next[step] as number;
      if (state === dead) throw new ConnectionError(errorCode.compressionError, "bad Huffman code");
      const symbol = emitted[step] as number;
      if (symbol !== 0) decoded[length++] = symbol - 1;
    }
  }
  if (mayEnd[state] !== 1)
    throw new ConnectionError(errorCode.compressionError, "bad Huffman padding");
  return decoded.toString("latin1", 0, length);
}

interface TreeNode {
  readonly depth: number;
  /** Whether the path from the root is all ones. */
  readonly isOnes: boolean;
  readonly children: [TreeNode | number | undefined, TreeNode | number | undefined];
}

function buildMachine(): Machine {
  const states: TreeNode[] = [];
  const newNode = (depth: number, isOnes: boolean): TreeNode => {
    const node: TreeNode = { depth, isOnes, children: [undefined, undefined] };
    states.push(node);
    return node;
  };
  const root = newNode(0, true);
  for (const { symbol, code, bits } of codes()) {
    let node = root;
    for (let bit = bits - 1; bit > 0; bit--) {
      const branch = ((code >> bit) & 1) as 0 | 1;
      let child = node.children[branch];
      if (child === undefined) {
        child = newNode(node.depth + 1, node.isOnes && branch === 1);
        node.children[branch] = child;
      }
      node = child as TreeNode;
    }
    node.children[(code & 1) as 0 | 1] = symbol;
  }
  return tabulate(states, root);
}

function* codes(): Generator<{ symbol: number; code: number; bits: number }> {
  let code = 0;
  let previousBits = 0;
  for (const [length, runs] of Object.entries(symbolsByLength)) {
    const bits = Number(length);
    code <<= bits - previousBits;
    previousBits = bits;
    for (const run of runs) {
      const [first, last] = typeof run === "number" ? [run, run] : run;
      for (let symbol = first; symbol <= last; symbol++) yield { symbol, code: code++, bits };
    }
  }
}

function tabulate(states: readonly TreeNode[], root: TreeNode): Machine {
  const index = new Map(states.map((state, at) => [state, at]));
  const next = new Uint16Array(states.length * 16);
  const emitted = new Uint16Array(states.length * 16);
  states.forEach((state, at) => {
    for (let nibble = 0; nibble < 16; nibble++) {
      let node: TreeNode | undefined = state;
      for (let bit = 3; bit >= 0 && node !== undefined; bit--) {
        const child: TreeNode | number | undefined = node.children[((nibble >> bit) & 1) as 0 | 1];
        if (typeof child !== "number") node = child;
        else if (child === endOfString) node = undefined;
        else {
          emitted[at * 16 + nibble] = child + 1;
          node = root;
        }
      }
      next[at * 16 + nibble] = node === undefined ? dead : (index.get(node) as number);
    }
  });
  const mayEnd = Uint8Array.from(states, ({ depth, isOnes }) => (isOnes && depth < 8 ? 1 : 0));
  return { next, emitted, mayEnd };
}

// Decodes header blocks (HPACK, RFC 7541) with the dynamic table that both sides of a connection
// keep in step.
//
// A field is validated once, when its text arrives; later references by index return the same
// object. So do repeated never-indexed literals, which is how many clients send tokens.

export interface HeaderField {
  readonly name: string;
  /** One character per byte. */
  readonly value: string;
  /** Its size for tables and limits. */
  readonly bytes: number;
  /** Whether name and value are valid in HTTP/2. */
  readonly isValid: boolean;
}

/** The limit of the peer's dynamic table: the protocol's default, which is never changed. */
export const decoderTableBytesMax = 4096;

/**
 * The longest cached literal, in its encoded form. Tokens of service accounts have less than a
 * thousand bytes.
 */
export const rememberedLiteralBytesMax = 4096;

/**
 * RFC 9113, 8.2.1: names in lower case; values without line breaks, and without spaces around them.
 */
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

  /**
   * The fields of the block, as far as they fit into the limits; undefined beyond them. Throws a
   * ConnectionError when the block is malformed.
   */
  decode(block: Buffer, bytesMax: number, pairsMax: number): HeaderField[] | undefined {
    const fields: HeaderField[] = [];
    let bytes = 0;
    let isWithin = true;
    this.#block = block;
    this.#at = 0;
    this.#end = block.length;
    let isFirst = true;
    while (this.#at < this.#end) {
      const byte = block[this.#at] as number;
      let found: HeaderField;
      if (byte >= 0x80) found = this.#field(this.#integer(7));
      else if (byte >= 0x40) found = this.#keep(this.#literal(this.#integer(6)));
      else if (byte < 0x10) found = this.#literal(this.#integer(4));
      else if (byte < 0x20) found = this.#neverKept();
      else if (isFirst) {
        // Sizes may change between blocks only; there may be two changes.
        this.#resize(this.#integer(5));
        continue;
      } else throw broken("a table size inside a header block");
      isFirst = false;
      bytes += found.bytes;
      isWithin &&= fields.length < pairsMax && bytes <= bytesMax;
      if (isWithin) fields.push(found);
    }
    return isWithin ? fields : undefined;
  }

  #field(index: number): HeaderField {
    const found =
      index <= staticFields.length
        ? staticFields[index - 1]
        : this.#table[this.#table.length - (index - staticFields.length)];
    if (found === undefined) throw broken("an unknown header number");
    return found;
  }

  #literal(index: number): HeaderField {
    const name = index === 0 ? this.#string() : this.#field(index).name;
    return field(name, this.#string());
  }

  /**
   * A repeated token is the same string: its Huffman code is not decoded, and its hash not computed
   * again. The time of the comparison cannot be used to guess a token: a guess replaces the cached
   * literal that it was compared with.
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
    const found = this.#literal(index);
    const length = this.#at - from;
    // Indexes beyond the static table refer to the current dynamic table.
    const isLasting = index <= staticFields.length;
    if (isLasting && length >= rememberedLiteralBytesMin && length <= rememberedLiteralBytesMax) {
      this.#remembered = { bytes: Buffer.from(this.#block.subarray(from, this.#at)), field: found };
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
    if (this.#at >= this.#end) throw truncated();
    let value = (this.#block[this.#at++] as number) & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      if (this.#at >= this.#end) throw truncated();
      const byte = this.#block[this.#at++] as number;
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
}

interface RememberedLiteral {
  /** The complete literal: the index of its name, its encoding, its length and its text. */
  readonly bytes: Buffer;
  readonly field: HeaderField;
}

/** Shorter literals are decoded as fast as compared. */
const rememberedLiteralBytesMin = 32;

function field(name: string, value: string): HeaderField {
  const isValid = namePattern.test(name) && !badValuePattern.test(value);
  return { name, value, bytes: name.length + value.length + fieldOverheadBytes, isValid };
}

function broken(message: string): ConnectionError {
  return new ConnectionError(errorCode.compressionError, message);
}

const truncated = () => broken("a header block that ends too early");

// Encodes header blocks (HPACK, RFC 7541). Headers that repeat across responses are sent once per
// connection and by index after that.

/** Different in every response: indexing them would only evict useful entries. */
const passingNames = new Set(["audit-id", "content-length", "etag", "location", "warning"]);

const tableBytesDefault = 4096;

/**
 * Indexes by name and value, without a combined key: every header of every response is looked up.
 */
type Numbers = Map<string, Map<string, number>>;

const staticNames = new Map<string, number>();
const staticPairs: Numbers = new Map();
staticTable.forEach(([name, value], at) => {
  if (!staticNames.has(name)) staticNames.set(name, at + 1);
  if (value !== "") put(staticPairs, name, value, at + 1);
});

/** Blocks are assembled in this buffer, one at a time, and copied into the output. */
let scratch = Buffer.allocUnsafeSlow(4096);

export class HeaderEncoder {
  /** The peer's dynamic table: the number of entries that were added before each. */
  readonly #kept: Numbers = new Map();
  /** The same entries, the oldest first. */
  readonly #order: (readonly [name: string, value: string])[] = [];
  #tableBytes = 0;
  #tableBytesMax = tableBytesDefault;
  #added = 0;
  /** Set when the peer requested another size, which the next block must confirm. */
  #resizedTo: number | undefined;
  #length = 0;

  /** Sets the limit of the peer's table. The encoder never uses more than the default. */
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

  /**
   * Confirms the smallest size that was requested since the last block, then the current one (RFC
   * 7541, 4.2).
   */
  #confirmSize(smallest: number): void {
    this.#resizedTo = undefined;
    if (smallest < this.#tableBytesMax) this.#integer(smallest, 5, 0x20);
    this.#integer(this.#tableBytesMax, 5, 0x20);
  }

  #write(name: string, value: string): void {
    const bytesMax = name.length + value.length + 16;
    if (this.#length + bytesMax > scratch.length) this.#grow(bytesMax);
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

  /** Evicts entries to make space for this many bytes. */
  #evict(bytes: number): void {
    while (this.#tableBytes + bytes > this.#tableBytesMax) {
      const oldest = this.#order.shift();
      if (oldest === undefined) return;
      const [name, value] = oldest;
      this.#kept.get(name)?.delete(value);
      this.#tableBytes -= fieldBytes(name, value);
    }
  }

  #grow(bytes: number): void {
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
