/** Writes protobuf as Go clients send it; just enough for tests. */

/** A field is its number and a text, bytes, an integer, or a message of fields. */
export type ProtoField = readonly [number: number, value: string | Uint8Array | number | Proto];
export type Proto = readonly ProtoField[];

export function encodeProto(fields: Proto): Buffer {
  return Buffer.concat(fields.map(encodeField));
}

/** The `k8s\0` envelope around a message. */
export function envelope(apiVersion: string, kind: string, message: Proto): Buffer {
  const typeMeta: Proto = [
    [1, apiVersion],
    [2, kind],
  ];
  const unknown = encodeProto([
    [1, typeMeta],
    [2, encodeProto(message)],
    [3, ""],
    [4, ""],
  ]);
  return Buffer.concat([Buffer.from("k8s\0", "latin1"), unknown]);
}

/** One entry of a map, as a field. */
export function mapEntry(number: number, key: string, value: string | Uint8Array): ProtoField {
  return [
    number,
    [
      [1, key],
      [2, value],
    ],
  ];
}

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const byte = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? byte : byte | 0x80);
  } while (rest !== 0n);
  return Buffer.from(bytes);
}

function encodeField([number, value]: ProtoField): Buffer {
  if (typeof value === "number") return Buffer.concat([varint(number << 3), varint(value)]);
  const bytes =
    typeof value === "string"
      ? Buffer.from(value)
      : value instanceof Uint8Array
        ? value
        : encodeProto(value);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}
