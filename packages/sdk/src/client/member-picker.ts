/**
 * MemberPicker: cuts the wanted members out of an object's bytes, so that no other member becomes a
 * value.
 *
 * A program that keeps only the metadata of a hundred thousand objects would otherwise have V8
 * create their specs only to discard them. Unwanted members are skipped by their brackets and
 * quotes; whether they are valid JSON is not checked.
 */
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  isSpace,
  openBrace,
  openBracket,
  quote,
} from "./json-codes.ts";

/**
 * `true`: the full value. A tree: the selected members of an object, or a value that is no object.
 */
export interface MemberTree {
  readonly [member: string]: true | MemberTree;
}

interface WantedMember {
  readonly name: Uint8Array;
  readonly part: true | readonly WantedMember[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const failed = -1;
const roomBytesMin = 4096;

export class MemberPicker {
  readonly #wanted: readonly WantedMember[];
  #source: Uint8Array = nothing;
  #room: Uint8Array = new Uint8Array(roomBytesMin);
  #length = 0;

  constructor(tree: MemberTree) {
    this.#wanted = wantedMembers(tree);
  }

  /**
   * Returns undefined for bytes that it cannot cut: the caller parses them in full, and detects
   * syntax errors.
   */
  pick(object: Uint8Array): string | undefined {
    if (this.#room.length < object.length) this.#room = new Uint8Array(object.length);
    this.#source = object;
    this.#length = 0;
    const end = this.#object(this.#space(0), this.#wanted);
    const isWhole = end !== failed && this.#space(end) === object.length;
    const text = isWhole ? decoder.decode(this.#room.subarray(0, this.#length)) : undefined;
    this.#source = nothing;
    if (this.#room.length > roomBytesMax) this.#room = new Uint8Array(roomBytesMin);
    return text;
  }

  /**
   * Copies the wanted members of the object that starts at `start`, and returns where the object
   * ends.
   */
  #object(start: number, wanted: readonly WantedMember[]): number {
    const bytes = this.#source;
    if (bytes[start] !== openBrace) return failed;
    this.#write(openBrace);
    let isFirst = true;
    let at = this.#space(start + 1);
    if (bytes[at] === closeBrace) {
      this.#write(closeBrace);
      return at + 1;
    }
    for (;;) {
      const nameEnd = this.#plainString(at);
      if (nameEnd === failed) return failed;
      const member = wantedAt(bytes, at + 1, nameEnd - 1, wanted);
      const colonAt = this.#space(nameEnd);
      if (bytes[colonAt] !== colon) return failed;
      const valueAt = this.#space(colonAt + 1);
      let end: number;
      if (member === undefined) end = this.#skip(valueAt);
      else {
        if (!isFirst) this.#write(comma);
        isFirst = false;
        this.#copy(at, nameEnd);
        this.#write(colon);
        end = this.#value(valueAt, member.part);
      }
      if (end === failed) return failed;
      at = this.#space(end);
      if (bytes[at] === closeBrace) {
        this.#write(closeBrace);
        return at + 1;
      }
      if (bytes[at] !== comma) return failed;
      at = this.#space(at + 1);
    }
  }

  #value(start: number, part: WantedMember["part"]): number {
    if (part !== true && this.#source[start] === openBrace) return this.#object(start, part);
    const end = this.#skip(start);
    if (end !== failed) this.#copy(start, end);
    return end;
  }

  /** Where the value ends that starts at `start`. */
  #skip(start: number): number {
    const bytes = this.#source;
    const first = bytes[start];
    if (first === quote) return this.#string(start);
    if (first !== openBrace && first !== openBracket) return this.#word(start);
    let depth = 0;
    for (let i = start; i < bytes.length; i++) {
      const byte = bytes[i];
      if (byte === quote) {
        i = this.#string(i) - 1;
        if (i < start) return failed;
      } else if (byte === openBrace || byte === openBracket) depth++;
      else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) return i + 1;
    }
    return failed;
  }

  /** A number, `true`, `false` or `null`. */
  #word(start: number): number {
    let end = start;
    while (end < this.#source.length && isOfWord(this.#source[end] as number)) end++;
    return end === start ? failed : end;
  }

  #string(open: number): number {
    const bytes = this.#source;
    for (let i = open + 1; i < bytes.length; i++) {
      const byte = bytes[i];
      if (byte === quote) return i + 1;
      if (byte === backslash) i++;
    }
    return failed;
  }

  /** A name with escapes cannot be compared by its bytes. */
  #plainString(open: number): number {
    const bytes = this.#source;
    if (bytes[open] !== quote) return failed;
    for (let i = open + 1; i < bytes.length; i++) {
      const byte = bytes[i];
      if (byte === quote) return i + 1;
      if (byte === backslash) return failed;
    }
    return failed;
  }

  #space(start: number): number {
    let i = start;
    while (isSpace(this.#source[i])) i++;
    return i;
  }

  #write(byte: number): void {
    this.#room[this.#length++] = byte;
  }

  #copy(start: number, end: number): void {
    for (let i = start; i < end; i++) this.#room[this.#length++] = this.#source[i] as number;
  }
}

function wantedMembers(tree: MemberTree): WantedMember[] {
  return Object.entries(tree).map(([name, part]) => ({
    name: encoder.encode(name),
    part: part === true ? true : wantedMembers(part),
  }));
}

function wantedAt(
  bytes: Uint8Array,
  start: number,
  end: number,
  wanted: readonly WantedMember[],
): WantedMember | undefined {
  for (const member of wanted) {
    const { name } = member;
    if (name.length !== end - start) continue;
    let i = 0;
    while (i < name.length && bytes[start + i] === name[i]) i++;
    if (i === name.length) return member;
  }
  return undefined;
}

function isOfWord(byte: number): boolean {
  return byte > 0x20 && byte !== comma && byte !== closeBrace && byte !== closeBracket;
}

const nothing = new Uint8Array(0);
/** A buffer for an unusually long object is not kept. */
const roomBytesMax = 64 << 10;
