/** What is asked of every frame, whatever it carries. */
import type { Frame } from "./frame-reader.ts";
import { ConnectionError, errorCode, flag } from "./protocol.ts";

/** What a frame carries, without its padding. */
export function unpadded({ flags, payload }: Frame): Buffer {
  if ((flags & flag.padded) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined || padding >= payload.length)
    throw protocolError("more padding than frame");
  return payload.subarray(1, payload.length - padding);
}

export function checkLength({ payload, type }: Frame, bytes: number): void {
  if (payload.length !== bytes)
    throw new ConnectionError(
      errorCode.frameSizeError,
      `a frame of type ${type} of the wrong size`,
    );
}

/** A stream that nobody has opened; servers open none. */
export function isIdle(streamId: number, lastStreamId: number): boolean {
  return streamId % 2 === 0 || streamId > lastStreamId;
}

/** The priority of a stream begins with the one that it comes after. */
export function dependsOnItself(streamId: number, priority: Buffer): boolean {
  return (priority.readUInt32BE(0) & 0x7fff_ffff) === streamId;
}

export function checkGoAway({ streamId, payload }: Frame): void {
  if (streamId !== 0) throw protocolError("a farewell of a stream");
  if (payload.length < 8) throw new ConnectionError(errorCode.frameSizeError, "a short farewell");
}

export function protocolError(message: string): ConnectionError {
  return new ConnectionError(errorCode.protocolError, message);
}
