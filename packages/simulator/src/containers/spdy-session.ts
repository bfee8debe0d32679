/**
 * The server side of SPDY/3.1, as far as port-forwarding uses it: clients open streams, bytes flow
 * both ways, streams end.
 *
 *     control:  1 version  type │ flags length │ …        data:  0 stream │ flags length │ bytes
 */
import type { Duplex } from "node:stream";
import { HeaderReader, HeaderWriter } from "./spdy-headers.ts";

const version = 3;
const frameType = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7 } as const;
const finFlag = 1;
const headBytes = 8;
const frameBytesMax = 1 << 20;

export interface SpdyStream {
  readonly headers: ReadonlyMap<string, string>;
  onData: (bytes: Buffer) => void;
  onEnd: () => void;
  write(bytes: Uint8Array): void;
  end(): void;
}

export interface SpdySessionOptions {
  readonly stream: Duplex;
  readonly onStream: (stream: SpdyStream) => void;
}

/**
 * Runs until the connection ends or the other side violates the protocol, and closes the connection
 * then.
 */
export async function runSpdySession({ stream, onStream }: SpdySessionOptions): Promise<void> {
  const streams = new Map<number, SpdyStream>();
  const reader = new HeaderReader();
  const writer = new HeaderWriter();
  const control = (type: number, payload: Buffer) =>
    stream.write(Buffer.concat([controlHead(type, payload.length), payload]));
  const synStream = async (flags: number, payload: Buffer) => {
    const id = payload.readUInt32BE(0) & 0x7fffffff;
    const opened = serverStream(stream, id, await reader.read(payload.subarray(10)));
    streams.set(id, opened);
    control(frameType.synReply, Buffer.concat([uint32(id), await writer.write(new Map())]));
    onStream(opened);
    if ((flags & finFlag) !== 0) opened.onEnd();
  };
  try {
    let buffered = Buffer.alloc(0);
    for await (const chunk of stream) {
      buffered = Buffer.concat([buffered, chunk as Buffer]);
      while (buffered.length >= headBytes) {
        const flags = buffered[4] as number;
        const length = buffered.readUIntBE(5, 3);
        if (length > frameBytesMax) return;
        if (buffered.length < headBytes + length) break;
        const head = buffered.readUInt32BE(0);
        const payload = buffered.subarray(headBytes, headBytes + length);
        buffered = buffered.subarray(headBytes + length);
        const isControl = head >>> 31 === 1;
        const type = head & 0xffff;
        if (!isControl) {
          const found = streams.get(head);
          if (length > 0) found?.onData(Buffer.from(payload));
          if ((flags & finFlag) !== 0) found?.onEnd();
        } else if (type === frameType.synStream) await synStream(flags, payload);
        else if (type === frameType.ping) control(frameType.ping, Buffer.from(payload));
        else if (type === frameType.rstStream) streams.delete(payload.readUInt32BE(0));
        else if (type === frameType.goAway) return;
      }
    }
  } finally {
    stream.destroy();
  }
}

function serverStream(
  connection: Duplex,
  id: number,
  headers: ReadonlyMap<string, string>,
): SpdyStream {
  const data = (bytes: Uint8Array, flags: number) => {
    const head = Buffer.alloc(headBytes);
    head.writeUInt32BE(id, 0);
    head[4] = flags;
    head.writeUIntBE(bytes.length, 5, 3);
    if (!connection.destroyed) connection.write(Buffer.concat([head, bytes]));
  };
  return {
    headers,
    onData: () => {},
    onEnd: () => {},
    write: (bytes) => data(bytes, 0),
    end: () => data(Buffer.alloc(0), finFlag),
  };
}

function controlHead(type: number, length: number): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt16BE(0x8000 | version, 0);
  head.writeUInt16BE(type, 2);
  head.writeUIntBE(length, 5, 3);
  return head;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
