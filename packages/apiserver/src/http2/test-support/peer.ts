/**
 * The client side of a connection without sockets: frames in, frames out. For tests of this folder.
 */
import { FakeClock } from "@kcp-ts/testkit";
import {
  eventLoopLimits,
  InboundBudget,
  OutboundBudget,
  UnreadResponseBudget,
} from "../../event-loop/index.ts";
import { Connection, type ConnectionLimits } from "../connection.ts";
import { clientPreface, flag, frameType } from "../protocol.ts";
import type { ServerStream } from "../server-stream.ts";

export interface SentFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export interface FrameParts {
  readonly type: number;
  readonly flags?: number;
  readonly streamId?: number;
  readonly payload?: Buffer | readonly number[];
  /** The announced length, when it is wrong. */
  readonly length?: number;
}

export function frame({ type, flags = 0, streamId = 0, payload = [], length }: FrameParts): Buffer {
  const bytes = Buffer.from(payload);
  const head = Buffer.alloc(9);
  head.writeUIntBE(length ?? bytes.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, bytes]);
}

export function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = pairs.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), number(value)]));
  return frame({ type: frameType.settings, payload: Buffer.concat(payload) });
}

/** A header block without compression: every field as literal text. */
export function block(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (each: string) => {
    const bytes = Buffer.from(each, "latin1");
    const head = bytes.length < 127 ? [bytes.length] : [127, ...continued(bytes.length - 127)];
    return Buffer.concat([Buffer.from(head), bytes]);
  };
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  );
}

function continued(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...continued(value >> 7)];
}

export const getFields: readonly (readonly [string, string])[] = [
  [":method", "GET"],
  [":scheme", "https"],
  [":path", "/x"],
];
export const postFields: readonly (readonly [string, string])[] = [
  [":method", "POST"],
  [":scheme", "https"],
  [":path", "/x"],
];

export function get(streamId: number): Buffer {
  return headers(streamId, getFields, { isEnd: true });
}

export function headers(
  streamId: number,
  fields: readonly (readonly [string, string])[],
  { isEnd }: { readonly isEnd: boolean },
): Buffer {
  const flags = flag.endHeaders | (isEnd ? flag.endStream : 0);
  return frame({ type: frameType.headers, flags, streamId, payload: block(fields) });
}

export function data(streamId: number, payload: Buffer, isEnd = false): Buffer {
  return frame({ type: frameType.data, flags: isEnd ? flag.endStream : 0, streamId, payload });
}

/** Tests of the protocol run without a limit per turn. */
const boundless = new InboundBudget({
  ...eventLoopLimits.inbound,
  unitsPerTurnMax: Number.POSITIVE_INFINITY,
  unitsPerConnectionMax: Number.POSITIVE_INFINITY,
  atWorkMax: Number.POSITIVE_INFINITY,
  atWorkOfAllMax: Number.POSITIVE_INFINITY,
});

export class Peer {
  readonly clock = new FakeClock();
  readonly connection: Connection;
  readonly streams: ServerStream[] = [];
  readonly errors: Error[] = [];
  isEnded = false;
  /** Whether the server has paused reading. */
  isHeld = false;
  /** When set, written bytes do not leave. */
  isBlocked = false;
  #received = Buffer.alloc(0);

  constructor({
    onStream = () => {},
    limits = {},
    greeting = settings(),
    inbound = boundless,
    outbound = new OutboundBudget(),
    unread = new UnreadResponseBudget(),
  }: {
    readonly onStream?: (stream: ServerStream) => void;
    readonly limits?: Partial<ConnectionLimits>;
    readonly greeting?: Buffer;
    readonly inbound?: InboundBudget;
    readonly outbound?: OutboundBudget;
    readonly unread?: UnreadResponseBudget;
  } = {}) {
    this.connection = new Connection({
      clock: this.clock,
      inbound,
      outbound,
      unread,
      setReadPaused: (isHeld) => {
        this.isHeld = isHeld;
      },
      limits: {
        headerBytesMax: 64 << 10,
        headerPairsMax: 256,
        streamsPerConnectionMax: 100,
        ...limits,
      },
      onStream: (stream) => {
        this.streams.push(stream);
        onStream(stream);
      },
      write: (bytes) => {
        this.#received = Buffer.concat([this.#received, bytes]);
        return !this.isBlocked;
      },
      end: () => {
        this.isEnded = true;
      },
      onError: (error) => this.errors.push(error),
    });
    this.send(Buffer.from(clientPreface, "latin1"), greeting);
  }

  send(...bytes: readonly Buffer[]): void {
    this.connection.receive(Buffer.concat(bytes));
  }

  /** The frames since the last call, without the server's preface and acknowledgements. */
  async received(): Promise<SentFrame[]> {
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    const frames: SentFrame[] = [];
    let bytes = this.#received;
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const end = 9 + bytes.readUIntBE(0, 3);
      const [type, flags] = [bytes[3] as number, bytes[4] as number];
      const streamId = bytes.readUInt32BE(5);
      frames.push({ type, flags, streamId, payload: bytes.subarray(9, end) });
      bytes = bytes.subarray(end);
    }
    this.#received = Buffer.from(bytes);
    const isGreeting = ({ type, streamId }: SentFrame) =>
      type === frameType.settings || (type === frameType.windowUpdate && streamId === 0);
    return frames.filter((each) => !isGreeting(each));
  }
}

export function goAwayFrames(frames: readonly SentFrame[]): number | undefined {
  return frames.find(({ type }) => type === frameType.goAway)?.payload.readUInt32BE(4);
}

export function resets(frames: readonly SentFrame[]): [id: number, code: number][] {
  return frames
    .filter(({ type }) => type === frameType.resetStream)
    .map(({ streamId, payload }) => [streamId, payload.readUInt32BE(0)]);
}

function dataOf(frames: readonly SentFrame[], id: number): Buffer {
  const parts = frames.filter(({ type, streamId }) => type === frameType.data && streamId === id);
  return Buffer.concat(parts.map(({ payload }) => payload));
}

export const bytesOf = (frames: readonly SentFrame[], id: number) => dataOf(frames, id).length;
export const bodyOf = (frames: readonly SentFrame[], id: number) => dataOf(frames, id).toString();

/** Responds with this text. */
export const ok = (body: string) => (stream: ServerStream) =>
  stream.respond(200, { "content-type": "text/plain" }, Buffer.from(body));
