/** Writes protobuf wire format, field by field. */

/** A length-delimited field: bytes, text, or a message that is encoded already. */
export function bytesField(number: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value]);
}

export function textField(number: number, value: string): Buffer {
  return bytesField(number, Buffer.from(value, "utf8"));
}

/** A varint field; negative numbers take ten bytes, as int64 has them. */
export function integerField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

export function doubleField(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint(number * 8 + 1), bytes]);
}

function varint(value: number): Buffer {
  if (value >= 0 && value < 0x80) return Buffer.from([value]);
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
