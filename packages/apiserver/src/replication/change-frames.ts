/**
 * Changes of a store on their way to a standby.
 *
 *     frame   = u32 payload length, u8 type, payload
 *     put     = type "P": u64 revision, u64 expected, u16 key length, key (ASCII), value
 *     delete  = type "D": u64 revision, u64 expected, u16 key length, key
 *     renewal = type "R": u64 revision      the newest one; the lease is renewed
 *
 * `expected` is the revision of the key's last change, 0 when it did not exist. Integers are
 * big-endian. The connection below (TLS) has the checksums.
 */
import { type Change, type Revision, type StorageKey, toRevision } from "../storage/index.ts";

export type Frame =
  | {
      readonly kind: "write";
      readonly revision: Revision;
      readonly key: StorageKey;
      readonly value: Uint8Array | "delete";
      readonly expected: Revision | "absent";
    }
  | { readonly kind: "renewal"; readonly revision: Revision };

const prefixBytes = 5;
const headBytes = 18;
const type = { put: 0x50, delete: 0x44, renewal: 0x52 } as const;
/** Above any value that a store accepts. */
export const frameBytesMax = 64 << 20;

export class FrameError extends Error {
  override readonly name = "FrameError";
}

export function encodeRenewal(revision: Revision): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + 8);
  frame.writeUInt32BE(8);
  frame.writeUInt8(type.renewal, 4);
  frame.writeBigUInt64BE(BigInt(revision), prefixBytes);
  return frame;
}

export function encodeChange(change: Exclude<Change, { kind: "progress" }>): Buffer {
  const { previous, revision } = change;
  const { key, value } =
    change.kind === "put" ? change.entry : { key: change.previous.key, value: new Uint8Array() };
  const length = headBytes + key.length + value.length;
  const frame = Buffer.allocUnsafe(prefixBytes + length);
  frame.writeUInt32BE(length);
  frame.writeUInt8(change.kind === "put" ? type.put : type.delete, 4);
  frame.writeBigUInt64BE(BigInt(revision), prefixBytes);
  frame.writeBigUInt64BE(BigInt(previous?.modifiedAt ?? 0), prefixBytes + 8);
  frame.writeUInt16BE(key.length, prefixBytes + 16);
  frame.write(key, prefixBytes + headBytes, "latin1");
  frame.set(value, prefixBytes + headBytes + key.length);
  return frame;
}

/** Memory grows with received bytes, up to the longest frame. */
export class FrameParser {
  #waiting: Buffer = Buffer.alloc(0);

  push(chunk: Uint8Array): Frame[] {
    this.#waiting =
      this.#waiting.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#waiting, chunk]);
    const frames: Frame[] = [];
    while (this.#waiting.length >= prefixBytes) {
      const length = this.#waiting.readUInt32BE();
      if (length > frameBytesMax) throw new FrameError(`a frame of ${length} bytes`);
      if (this.#waiting.length < prefixBytes + length) break;
      const payload = this.#waiting.subarray(prefixBytes, prefixBytes + length);
      frames.push(frameOf(this.#waiting.readUInt8(4), payload));
      this.#waiting = this.#waiting.subarray(prefixBytes + length);
    }
    return frames;
  }
}

function frameOf(kind: number, payload: Buffer): Frame {
  if (kind === type.renewal && payload.length === 8)
    return { kind: "renewal", revision: toRevision(payload.readBigUInt64BE()) };
  const isPut = kind === type.put;
  if ((!isPut && kind !== type.delete) || payload.length < headBytes)
    throw new FrameError(`a frame of type ${kind} with ${payload.length} bytes`);
  const valueAt = headBytes + payload.readUInt16BE(16);
  if (valueAt > payload.length) throw new FrameError("a key that is cut short");
  const expected = payload.readBigUInt64BE(8);
  return {
    kind: "write",
    revision: toRevision(payload.readBigUInt64BE()),
    key: payload.toString("latin1", headBytes, valueAt) as StorageKey,
    // A copy: a view would keep the whole chunk in memory.
    value: isPut ? Uint8Array.from(payload.subarray(valueAt)) : "delete",
    expected: expected === 0n ? "absent" : toRevision(expected),
  };
}
