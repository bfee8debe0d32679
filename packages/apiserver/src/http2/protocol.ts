/** The constants of HTTP/2 (RFC 9113), and its two kinds of errors. */

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

export const errorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

export type ErrorCode = (typeof errorCode)[keyof typeof errorCode];

export const setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export const clientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
export const frameHeadBytes = 9;
/** The maximal payload of frames both ways: the size that every peer must accept. */
export const framePayloadBytesMax = 16_384;
export const windowDefault = 65_535;
export const windowMax = 0x7fff_ffff;
/**
 * The overhead of a header besides its characters, for both tables and for the size of a list (RFC
 * 7541, 4.1).
 */
export const fieldOverheadBytes = 32;

/** A protocol violation that ends the connection. */
export class ConnectionError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.name = "ConnectionError";
    this.code = code;
  }
}
