/**
 * The frames on a connection between two shards, and their reader and writer.
 *
 *     length of what follows (4 bytes) | type (1) | id (4) | payload
 *
 * One side sends requests, the other one responses. Frames of one turn of the event loop are
 * written together.
 */
import type { Duplex } from "node:stream";

export const frameType = {
  /** A text that later frames refer to by its number, the id. */
  text: 1,
  /** All numbers are free again. */
  forgetTexts: 2,
  request: 3,
  response: 4,
  data: 5,
  end: 6,
  /** The other side gives the request, or its response, up. */
  cancel: 7,
  /** The other side may send this many more bytes of a stream. */
  window: 8,
  wantBody: 9,
  /** The cluster is on another shard. */
  moved: 10,
  /** There is no such cluster. */
  unknown: 11,
  /** A request of the other shard itself, which may be an operation. */
  requestOfShard: 12,
} as const;

/** The methods that are sent on, by their number: what a client calls a method is never parsed. */
export const linkMethods: readonly string[] = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
];

export const frameHeadBytes = 9;
/** Data frames are smaller; a request's head is limited by its listener. */
export const frameBytesMax = 1 << 20;
export const dataBytesMax = 64 << 10;
/** Bytes of one stream that are on their way, or wait for a reader. */
export const windowBytes = 256 << 10;
/** While more is unsent, streams wait. */
const unsentBytesMax = 1 << 20;
/** What the writer gathers before it writes, at most. */
const gatheredBytesMax = 64 << 10;

export class FrameWriter {
  readonly #connection: Duplex;
  #buffer = Buffer.allocUnsafe(gatheredBytesMax);
  /** What stands in front of it has been written. */
  #start = 0;
  #used = 0;
  #isScheduled = false;
  readonly #waiting: (() => void)[] = [];

  constructor(connection: Duplex) {
    this.#connection = connection;
    connection.on("drain", () => {
      for (const resume of this.#waiting.splice(0)) resume();
    });
  }

  /** Reserves a frame, and returns where its payload begins in `buffer`. */
  begin(type: number, id: number, payloadBytes: number): number {
    const total = frameHeadBytes + payloadBytes;
    if (this.#used + total > this.#buffer.length) {
      this.flush();
      this.#buffer = Buffer.allocUnsafe(Math.max(total, gatheredBytesMax));
      this.#start = 0;
      this.#used = 0;
    }
    const at = this.#used;
    this.#buffer.writeUInt32BE(total - 4, at);
    this.#buffer[at + 4] = type;
    this.#buffer.writeUInt32BE(id, at + 5);
    this.#used += total;
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(this.#flushLater);
    }
    return at + frameHeadBytes;
  }

  get buffer(): Buffer {
    return this.#buffer;
  }

  plain(type: number, id: number): void {
    this.begin(type, id, 0);
  }

  bytes(type: number, id: number, payload: Uint8Array): void {
    const at = this.begin(type, id, payload.length);
    this.#buffer.set(payload, at);
  }

  number(type: number, id: number, value: number): void {
    const at = this.begin(type, id, 4);
    this.#buffer.writeUInt32BE(value, at);
  }

  /** Resolves when streams may send more. */
  writable(): Promise<void> | undefined {
    if (this.#connection.writableLength < unsentBytesMax || this.#connection.destroyed)
      return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Nobody waits for a connection that has ended. */
  closed(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }

  flush(): void {
    if (this.#used === this.#start) return;
    const bytes = this.#buffer.subarray(this.#start, this.#used);
    this.#start = this.#used;
    if (!this.#connection.destroyed) this.#connection.write(bytes);
  }

  readonly #flushLater = () => {
    this.#isScheduled = false;
    this.flush();
  };
}

export type OnFrame = (type: number, id: number, payload: Buffer) => void;

/** Reads frames from the chunks of a connection; throws for what is no frame. */
export class FrameReader {
  readonly #onFrame: OnFrame;
  #rest: Buffer | undefined;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  receive(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= frameHeadBytes) {
      const length = bytes.readUInt32BE(at);
      if (length > frameBytesMax || length < frameHeadBytes - 4)
        throw new Error(`a frame of ${length} bytes between shards`);
      const end = at + 4 + length;
      if (end > bytes.length) break;
      const type = bytes[at + 4] as number;
      const id = bytes.readUInt32BE(at + 5);
      this.#onFrame(type, id, bytes.subarray(at + frameHeadBytes, end));
      at = end;
    }
    this.#rest = at === bytes.length ? undefined : bytes.subarray(at);
  }
}

export interface FrameReceiver {
  readonly onFrame: OnFrame;
  /** What was received makes no sense; the connection is destroyed. */
  readonly onError: (error: unknown) => void;
  readonly onClose: () => void;
}

/** Reads the frames of a connection until it ends. */
export function receiveFrames(
  connection: Duplex,
  { onFrame, onError, onClose }: FrameReceiver,
): void {
  const reader = new FrameReader(onFrame);
  connection.on("data", (chunk: Buffer) => {
    try {
      reader.receive(chunk);
    } catch (error) {
      onError(error);
      connection.destroy();
    }
  });
  connection.resume();
  // Every error is followed by a close event.
  connection.on("error", () => {});
  connection.once("end", () => connection.destroy());
  connection.once("close", onClose);
}

/**
 * Texts that requests and responses repeat: headers of a client, an identity. Each is sent once and
 * then referred to by a number; when they are too many, both sides begin again.
 */
export class SentTexts {
  readonly #numbers = new Map<string, number>();
  #characters = 0;

  numberOf(text: string, writer: FrameWriter): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    if (this.#numbers.size >= textsMax || this.#characters + text.length > textCharactersMax) {
      this.#numbers.clear();
      this.#characters = 0;
      writer.plain(frameType.forgetTexts, 0);
    }
    const number = this.#numbers.size + 1;
    this.#numbers.set(text, number);
    this.#characters += text.length;
    writer.bytes(frameType.text, number, Buffer.from(text, "utf8"));
    return number;
  }
}

const textsMax = 1024;
const textCharactersMax = 512 << 10;

/** The other side of `SentTexts`: what a text says is read once. */
export class ReceivedTexts<Meaning> {
  readonly #read: (text: string) => Meaning;
  readonly #texts = new Map<number, string | { readonly meaning: Meaning }>();

  constructor(read: (text: string) => Meaning) {
    this.#read = read;
  }

  add(number: number, payload: Buffer): void {
    if (this.#texts.size >= textsMax) throw new Error("too many texts between shards");
    this.#texts.set(number, payload.toString("utf8"));
  }

  clear(): void {
    this.#texts.clear();
  }

  get(number: number): Meaning {
    const found = this.#texts.get(number);
    if (found === undefined) throw new Error("an unknown text between shards");
    if (typeof found !== "string") return found.meaning;
    const meaning = this.#read(found);
    this.#texts.set(number, { meaning });
    return meaning;
  }
}
