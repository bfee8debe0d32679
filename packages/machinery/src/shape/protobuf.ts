/**
 * Kubernetes protobuf request bodies: the `k8s\0` envelope and any message that has a shape.
 *
 * Go clients send these for built-in kinds and do not fall back. The result is the JSON that the
 * same client would have sent. Unknown field numbers are skipped, as protobuf requires; lengths are
 * checked against the available bytes. Every field on the wire is counted before it is decoded,
 * known or not, and so is every value of embedded JSON: an empty message takes two bytes.
 */
import { type Resumable, runSync } from "../base/index.ts";
import type { JsonObject } from "../json/index.ts";
import { FieldCount } from "./field-count.ts";
import { MessageDecoder, ProtobufError } from "./message-decoder.ts";
import type { MessageShape } from "./shape.ts";
import { WireReader } from "./wire-reader.ts";

export interface Envelope {
  /** Empty when the client left the type to the endpoint. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
}

const magic = [0x6b, 0x38, 0x73, 0x00];

export function decodeEnvelope(bytes: Uint8Array, count = new FieldCount()): Envelope {
  if (bytes.length < magic.length || magic.some((byte, i) => bytes[i] !== byte)) {
    throw new ProtobufError(
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
    );
  }
  let raw: Uint8Array = new Uint8Array();
  let apiVersion = "";
  let kind = "";
  const reader = new WireReader(bytes, magic.length);
  while (reader.at < bytes.length) {
    count.next(reader, bytes.length);
    if (reader.number === 1) {
      const end = reader.enter();
      while (reader.at < end) {
        count.next(reader, end);
        if (reader.number === 1) apiVersion = reader.string();
        else if (reader.number === 2) kind = reader.string();
      }
    } else if (reader.number === 2) raw = reader.bytes();
  }
  return { apiVersion, kind, raw };
}

export function decodeMessage(
  shape: MessageShape,
  bytes: Uint8Array,
  count = new FieldCount(),
): JsonObject {
  return runSync(decodeMessageResumable(shape, bytes, count));
}

/** The same, resumably. */
export function decodeMessageResumable(
  shape: MessageShape,
  bytes: Uint8Array,
  count = new FieldCount(),
): Resumable<JsonObject> {
  return new MessageDecoder(bytes, count).decode(shape);
}
