/**
 * Settings: those of the server, which begin a connection, and those of a client (RFC 9113, 6.5).
 */
import { protocolError } from "./frame-reader.ts";
import {
  ConnectionError,
  errorCode,
  framePayloadBytesMax,
  setting,
  windowMax,
} from "./protocol.ts";

const pairBytes = 6;

export function writeSettings(pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(pairs.length * pairBytes);
  pairs.forEach(([id, value], at) => {
    payload.writeUInt16BE(id, at * pairBytes);
    payload.writeUInt32BE(value, at * pairBytes + 2);
  });
  return payload;
}

/** The settings that a server applies, in order; throws when any setting is invalid. */
export function readSettings(
  payload: Buffer,
  enforce: { headerTableSize(bytes: number): void; initialWindowSize(bytes: number): void },
): void {
  if (payload.length % pairBytes !== 0)
    throw new ConnectionError(errorCode.frameSizeError, "half a setting");
  for (let at = 0; at < payload.length; at += pairBytes) {
    const id = payload.readUInt16BE(at);
    const value = payload.readUInt32BE(at + 2);
    if (id === setting.headerTableSize) enforce.headerTableSize(value);
    else if (id === setting.enablePush && value > 1) throw protocolError("half a push");
    else if (id === setting.maxFrameSize && (value < framePayloadBytesMax || value > 0xff_ffff))
      throw protocolError(`frames of ${value} bytes`);
    else if (id === setting.initialWindowSize) {
      if (value > windowMax)
        throw new ConnectionError(errorCode.flowControlError, `a window of ${value} bytes`);
      enforce.initialWindowSize(value);
    }
  }
}
