/**
 * Short forms of JSON strings that differ in all objects: uids and resourceVersions.
 *
 *     0x1c, 16 bytes    a UUID in lower case
 *     0x1d, 4 bytes     a number of four digits or more, without a leading zero
 *     0x1e, 6 bytes     a greater number
 *
 * All functions work on bytes in given arrays, and allocate nothing.
 */

export const firstShortCode = 0x1c;
const uuidCode = 0x1c;
const numberCode = 0x1d;
const greatNumberCode = 0x1e;
const uuidBytes = 16;
/** Lengths include the quotes, as everywhere in this file. */
const uuidTextBytes = 38;
const numberBytes = 4;
const greatNumberBytes = 6;
const numberTextBytesMin = 6;
const numberTextBytesMax = 17;

/**
 * Writes the short form of the string in quotes from `start` to `end`; 0 if there is none, else the
 * bytes it takes.
 */
export function writeShort(
  text: Uint8Array,
  start: number,
  end: number,
  short: Uint8Array,
  at: number,
): number {
  const length = end - start;
  if (length === uuidTextBytes) return writeUuid(text, start + 1, short, at);
  if (length < numberTextBytesMin || length > numberTextBytesMax) return 0;
  return writeNumber(text, start + 1, end - 1, short, at);
}

/** How many bytes the short form at `at` takes. */
export function shortBytes(short: Uint8Array, at: number): number {
  const code = short[at];
  if (code === uuidCode) return 1 + uuidBytes;
  return 1 + (code === numberCode ? numberBytes : greatNumberBytes);
}

/** How many bytes the string takes whose short form stands at `at`. */
export function plainBytes(short: Uint8Array, at: number): number {
  if (short[at] === uuidCode) return uuidTextBytes;
  let digits = 0;
  for (let rest = numberAt(short, at); rest > 0; rest = Math.floor(rest / 10)) digits++;
  return digits + 2;
}

/** Writes the string, `length` bytes long, whose short form stands at `at`. */
export function writePlain(
  short: Uint8Array,
  at: number,
  text: Uint8Array,
  start: number,
  length: number,
): void {
  text[start] = quote;
  text[start + length - 1] = quote;
  if (short[at] === uuidCode) {
    writeUuidText(short, at + 1, text, start + 1);
    return;
  }
  let rest = numberAt(short, at);
  for (let i = start + length - 2; i > start; i--) {
    text[i] = zero + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

function writeUuid(text: Uint8Array, start: number, short: Uint8Array, at: number): number {
  let i = start;
  for (let byte = 0; byte < uuidBytes; byte++) {
    if (hasDashBefore(byte) && text[i++] !== dash) return 0;
    const upper = hexValue(text[i++] as number);
    const lower = hexValue(text[i++] as number);
    if (upper === notHex || lower === notHex) return 0;
    short[at + 1 + byte] = upper * 16 + lower;
  }
  short[at] = uuidCode;
  return 1 + uuidBytes;
}

function writeUuidText(short: Uint8Array, at: number, text: Uint8Array, start: number): void {
  let i = start;
  for (let byte = 0; byte < uuidBytes; byte++) {
    if (hasDashBefore(byte)) text[i++] = dash;
    const value = short[at + byte] as number;
    text[i++] = hexDigit(value >> 4);
    text[i++] = hexDigit(value & 15);
  }
}

function hasDashBefore(byte: number): boolean {
  return byte === 4 || byte === 6 || byte === 8 || byte === 10;
}

function writeNumber(
  text: Uint8Array,
  start: number,
  end: number,
  short: Uint8Array,
  at: number,
): number {
  if (text[start] === zero) return 0;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = (text[i] as number) - zero;
    if (digit < 0 || digit > 9) return 0;
    value = value * 10 + digit;
  }
  if (value >= 2 ** (8 * greatNumberBytes)) return 0;
  const isGreat = value >= 2 ** (8 * numberBytes);
  const bytes = isGreat ? greatNumberBytes : numberBytes;
  short[at] = isGreat ? greatNumberCode : numberCode;
  for (let i = at + bytes; i > at; i--) {
    short[i] = value % 256;
    value = Math.floor(value / 256);
  }
  return 1 + bytes;
}

function numberAt(short: Uint8Array, at: number): number {
  const bytes = short[at] === numberCode ? numberBytes : greatNumberBytes;
  let value = 0;
  for (let i = at + 1; i <= at + bytes; i++) value = value * 256 + (short[i] as number);
  return value;
}

const notHex = -1;

/** The value of a lower-case hex digit. */
function hexValue(byte: number): number {
  if (byte >= zero && byte <= zero + 9) return byte - zero;
  return byte >= lowerA && byte <= lowerA + 5 ? byte - lowerA + 10 : notHex;
}

function hexDigit(value: number): number {
  return value < 10 ? zero + value : lowerA + value - 10;
}

const quote = 0x22;
const dash = 0x2d;
const zero = 0x30;
const lowerA = 0x61;
