/**
 * The Huffman code of HPACK (RFC 7541, appendix B), decoding only: what we send is short or sent once per connection.
 *
 * The code is canonical, so that the symbols of each length, in order, say everything.
 */
import { ConnectionError, errorCode } from "./protocol.ts";

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
 * A machine that eats half a byte per step: `next[state * 16 + nibble]` is the state after it, and the byte that was completed on the
 * way, if any (the shortest code has five bits, so there is never more than one).
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
let scratch = Buffer.allocUnsafeSlow(1024);

export function decodeHuffman(bytes: Buffer, start: number, end: number): string {
  machine ??= buildMachine();
  const { next, emitted, mayEnd } = machine;
  const longest = Math.ceil(((end - start) * 8) / 5);
  if (scratch.length < longest) scratch = Buffer.allocUnsafeSlow(longest * 2);
  let state = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    for (let shift = 4; shift >= 0; shift -= 4) {
      const step = state * 16 + ((byte >> shift) & 15);
      state = next[step] as number;
      if (state === dead) throw new ConnectionError(errorCode.compressionError, "bad Huffman code");
      const symbol = emitted[step] as number;
      if (symbol !== 0) scratch[length++] = symbol - 1;
    }
  }
  if (mayEnd[state] !== 1)
    throw new ConnectionError(errorCode.compressionError, "bad Huffman padding");
  return scratch.toString("latin1", 0, length);
}

interface TreeNode {
  readonly depth: number;
  /** Whether the way from the root is all ones. */
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
