/**
 * Writes ASN.1 in its distinguished encoding (X.690), as far as X.509 needs it.
 *
 * Every function returns a complete element: tag, length, content. Lengths always have the shortest
 * form.
 */

export const derTag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

export const der = {
  sequence: (...children: readonly Buffer[]): Buffer => element(derTag.sequence, ...children),

  /**
   * A set of one element: larger sets would have to be sorted, and X.509 names do not need them.
   */
  setOfOne: (child: Buffer): Buffer => element(derTag.set, child),

  /** A non-negative number from its big-endian bytes. */
  unsigned(bytes: Uint8Array): Buffer {
    let start = 0;
    while (start < bytes.length - 1 && bytes[start] === 0) start++;
    const magnitude = bytes.subarray(start);
    const needsSign = ((magnitude[0] ?? 0) & 0x80) !== 0 || magnitude.length === 0;
    return element(derTag.integer, needsSign ? Buffer.from([0]) : nothing, magnitude);
  },

  objectIdentifier(dotted: string): Buffer {
    const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
    return element(
      derTag.objectIdentifier,
      Buffer.from([first * 40 + second, ...rest.flatMap(base128)]),
    );
  },

  boolean: (value: boolean): Buffer => element(derTag.boolean, Buffer.from([value ? 0xff : 0])),
  null: (): Buffer => element(derTag.null),
  octetString: (content: Uint8Array): Buffer => element(derTag.octetString, content),
  utf8String: (text: string): Buffer => element(derTag.utf8String, Buffer.from(text, "utf8")),

  /** `unusedBits` are the low bits of the last byte that do not belong to the string. */
  bitString: (content: Uint8Array, unusedBits = 0): Buffer =>
    element(derTag.bitString, Buffer.from([unusedBits]), content),

  /**
   * UTCTime until 2049 and GeneralizedTime from 2050 on, as RFC 5280 4.1.2.5 requires. Resolution:
   * seconds.
   */
  time(epochMs: number): Buffer {
    const digits = `${new Date(epochMs).toISOString().slice(0, 19).replace(/[-T:]/g, "")}Z`;
    return digits < "2050"
      ? element(derTag.utcTime, Buffer.from(digits.slice(2), "ascii"))
      : element(derTag.generalizedTime, Buffer.from(digits, "ascii"));
  },

  /** `[number] EXPLICIT child`. */
  explicit: (number: number, child: Buffer): Buffer => element(0xa0 | number, child),

  /** `[number] IMPLICIT` of a primitive type: `content` is the content alone. */
  implicit: (number: number, content: Uint8Array): Buffer => element(0x80 | number, content),
} as const;

const nothing = Buffer.alloc(0);

function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), length(content.length), content]);
}

function length(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.from([bytes]);
  const digits: number[] = [];
  for (let rest = bytes; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return Buffer.from([0x80 | digits.length, ...digits]);
}

function base128(arc: number): number[] {
  const digits = [arc % 128];
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) {
    digits.unshift((rest % 128) | 0x80);
  }
  return digits;
}
