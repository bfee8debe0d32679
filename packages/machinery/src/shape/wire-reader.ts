/**
 * Reads protobuf wire format, one field after the other: numbers and bytes, without their meaning.
 */
export class WireError extends Error {
  override readonly name = "WireError";
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

const varintType = 0;
const longType = 1;
const bytesType = 2;
const shortType = 5;

export class WireReader {
  readonly #bytes: Uint8Array;
  /** The next byte to be read. */
  #at: number;
  /** The field that was read last. */
  number = 0;
  #type = varintType;
  #from = 0;
  #to = 0;
  #value: number | bigint = 0;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  /** Reads a field of a message that ends at the given index. */
  next(end: number): void {
    const tag = Number(this.#varint(end));
    this.number = tag >>> 3;
    if (this.number === 0) throw new WireError("illegal field number 0");
    this.#type = tag & 7;
    if (this.#type === varintType) this.#value = this.#varint(end);
    else if (this.#type === bytesType) this.#skip(Number(this.#varint(end)), end);
    else if (this.#type === longType) this.#skip(8, end);
    else if (this.#type === shortType) this.#skip(4, end);
    else throw new WireError(`unsupported wire type ${this.#type}`);
  }

  /** Enters the field, which is a message; returns its end. */
  enter(): number {
    if (this.#type !== bytesType) this.#refuse();
    this.#at = this.#from;
    return this.#to;
  }

  bytes(): Uint8Array {
    if (this.#type !== bytesType) this.#refuse();
    return this.#bytes.subarray(this.#from, this.#to);
  }

  string(): string {
    const bytes = this.bytes();
    try {
      return utf8.decode(bytes);
    } catch (error) {
      throw new WireError("string field contains invalid UTF-8", { cause: error });
    }
  }

  /** A varint as int64; beyond 2^53 it is a bigint. */
  integer(): number | bigint {
    if (this.#type !== varintType) this.#refuse();
    return this.#value;
  }

  double(): number {
    const { buffer, byteOffset } = this.#bytes;
    const view = new DataView(buffer, byteOffset + this.#from, this.#to - this.#from);
    if (this.#type === longType) return view.getFloat64(0, true);
    if (this.#type === shortType) return view.getFloat32(0, true);
    return this.#refuse();
  }

  #skip(length: number, end: number): void {
    this.#from = this.#at;
    this.#to = this.#at + length;
    if (length < 0 || this.#to > end) throw new WireError("unexpected end of message");
    this.#at = this.#to;
  }

  #varint(end: number): bigint | number {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte(end);
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return low;
    }
    let wide = BigInt(low);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.#byte(end);
      wide |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        const signed = BigInt.asIntN(64, wide);
        const small = Number(signed);
        return Number.isSafeInteger(small) ? small : signed;
      }
    }
    throw new WireError("varint is longer than ten bytes");
  }

  #byte(end: number): number {
    if (this.#at >= end) throw new WireError("unexpected end of message");
    return this.#bytes[this.#at++] as number;
  }

  #refuse(): never {
    throw new WireError(`field ${this.number} has the wrong wire type`);
  }
}
