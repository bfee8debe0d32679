/** Reads protobuf wire format: fields with their numbers, nothing about what they mean. */
export class WireError extends Error {
  override readonly name = "WireError";
}

export interface WireField {
  readonly number: number;
  bytes(): Uint8Array;
  string(): string;
  /** A varint as int64; beyond 2^53 it is a bigint. */
  integer(): number | bigint;
  double(): number;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

export class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  *fields(): Generator<WireField> {
    while (this.#at < this.#bytes.length) {
      const tag = Number(this.#varint());
      const number = tag >>> 3;
      if (number === 0) throw new WireError("illegal field number 0");
      yield this.#field(number, tag & 7);
    }
  }

  #field(number: number, type: number): WireField {
    switch (type) {
      case 0:
        return scalarField(number, this.#varint());
      case 1:
        return fixedField(number, this.#take(8));
      case 2:
        return bytesField(number, this.#take(Number(this.#varint())));
      case 5:
        return fixedField(number, this.#take(4));
      default:
        throw new WireError(`unsupported wire type ${type}`);
    }
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (length < 0 || end > this.#bytes.length) throw new WireError("unexpected end of message");
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }

  #varint(): bigint | number {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return low;
    }
    let wide = BigInt(low);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      wide |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        const signed = BigInt.asIntN(64, wide);
        const small = Number(signed);
        return Number.isSafeInteger(small) ? small : signed;
      }
    }
    throw new WireError("varint is longer than ten bytes");
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new WireError("unexpected end of message");
    return byte;
  }
}

function scalarField(number: number, value: number | bigint): WireField {
  return {
    number,
    integer: () => value,
    bytes: () => wrongType(number),
    string: () => wrongType(number),
    double: () => wrongType(number),
  };
}

function bytesField(number: number, value: Uint8Array): WireField {
  return {
    number,
    bytes: () => value,
    string: () => decodeUtf8(value),
    integer: () => wrongType(number),
    double: () => wrongType(number),
  };
}

function fixedField(number: number, value: Uint8Array): WireField {
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  return {
    number,
    double: () => (value.length === 8 ? view.getFloat64(0, true) : view.getFloat32(0, true)),
    bytes: () => wrongType(number),
    string: () => wrongType(number),
    integer: () => wrongType(number),
  };
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw new WireError("string field contains invalid UTF-8", { cause: error });
  }
}

function wrongType(number: number): never {
  throw new WireError(`field ${number} has the wrong wire type`);
}
