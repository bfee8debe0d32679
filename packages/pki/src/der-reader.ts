/**
 * Reads ASN.1 in its distinguished encoding, one level at a time; nothing recurses, so depth costs
 * nothing.
 *
 * The bytes may be untrusted (a signing request): every length is checked against the available
 * bytes, and encodings that are not distinguished are rejected.
 */
import { derTag } from "./der-writer.ts";

export interface DerElement {
  readonly tag: number;
  /** The content, without tag and length. */
  readonly content: Buffer;
  /** The complete element, to be copied or signed unchanged. */
  readonly bytes: Buffer;
}

export class DerError extends Error {
  override readonly name = "DerError";
}

/** The consecutive elements of `bytes`, which they must fill exactly. */
export function readElements(bytes: Buffer): DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length; ) {
    const element = readElement(bytes, at);
    elements.push(element);
    at += element.bytes.length;
  }
  return elements;
}

/** The single element that fills `bytes`; it must have this tag. */
export function readOnly(bytes: Buffer, tag: number): DerElement {
  const element = readElement(bytes, 0);
  if (element.bytes.length !== bytes.length) throw new DerError("bytes follow the element");
  return expectTag(element, tag);
}

/** The children of a sequence or set; `element` must be one. */
export function readChildren(element: DerElement | undefined, tag: number): DerElement[] {
  return readElements(expectTag(element, tag).content);
}

export function expectTag(element: DerElement | undefined, tag: number): DerElement {
  if (element?.tag !== tag) {
    throw new DerError(`tag 0x${tag.toString(16)} is expected, found ${describe(element)}`);
  }
  return element;
}

export function readObjectIdentifier(element: DerElement | undefined): string {
  const { content } = expectTag(element, derTag.objectIdentifier);
  const arcs: number[] = [];
  let arc = 0;
  for (const [at, byte] of content.entries()) {
    arc = arc * 128 + (byte & 0x7f);
    if (!Number.isSafeInteger(arc)) throw new DerError("an object identifier is too large");
    if (byte & 0x80) {
      if (at === content.length - 1) throw new DerError("an object identifier is cut off");
      continue;
    }
    if (arcs.length > 0) arcs.push(arc);
    else arcs.push(Math.min(Math.floor(arc / 40), 2), arc < 80 ? arc % 40 : arc - 80);
    arc = 0;
  }
  if (arcs.length === 0) throw new DerError("an object identifier is empty");
  return arcs.join(".");
}

/** The content of a bit string with a whole number of bytes. */
export function readBitString(element: DerElement | undefined): Buffer {
  const { content } = expectTag(element, derTag.bitString);
  if (content[0] !== 0) throw new DerError("a bit string is not a whole number of bytes");
  return content.subarray(1);
}

function readElement(bytes: Buffer, at: number): DerElement {
  const tag = bytes[at];
  const first = bytes[at + 1];
  if (tag === undefined || first === undefined) throw new DerError("an element is cut off");
  if ((tag & 0x1f) === 0x1f) throw new DerError("tags of several bytes are not supported");
  let length = first;
  let start = at + 2;
  if (first >= 0x80) {
    const digits = first & 0x7f;
    if (digits === 0 || digits > lengthDigitsMax || start + digits > bytes.length) {
      throw new DerError("a length is malformed");
    }
    length = bytes.readUIntBE(start, digits);
    start += digits;
    if (length < 0x80 || length < 256 ** (digits - 1)) {
      throw new DerError("a length is not in its shortest form");
    }
  }
  if (start + length > bytes.length) throw new DerError("an element is cut off");
  return {
    tag,
    content: bytes.subarray(start, start + length),
    bytes: bytes.subarray(at, start + length),
  };
}

/** Four bytes of length are 4 GiB, more than any input here. */
const lengthDigitsMax = 4;

function describe(element: DerElement | undefined): string {
  return element === undefined ? "nothing" : `0x${element.tag.toString(16)}`;
}
