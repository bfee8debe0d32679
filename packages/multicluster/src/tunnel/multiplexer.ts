/**
 * Multiplexer: many streams through one WebSocket. Each stream has its own credit, so an unread
 * stream delays no other; streams send in round robin, one message each.
 */
import type { Duplex } from "node:stream";
import { awakeDeadline, type Clock, type Timer } from "@kcp-ts/machinery/base";
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from "@kcp-ts/machinery/json";
import { WebSocketConnection } from "@kcp-ts/sdk/websocket";
import {
  firstCreditBytes,
  frameHead,
  frameKind,
  headBytes,
  messageBytesMax,
  tunnelCreditBytesMax,
} from "./mux-frames.ts";
import { MuxStream, TunnelError } from "./mux-stream.ts";

export interface MultiplexerOptions {
  readonly connection: Duplex;
  readonly role: "client" | "server";
  readonly clock: Clock;
  /** The other side opens a stream; rejected if omitted. */
  readonly onOpen?: ((stream: MuxStream, head: JsonValue) => void) | undefined;
  /**
   * The tunnel has ended, and with it all of its streams. With an error unless one of the two sides
   * closed it.
   */
  readonly onClose: (error: Error | undefined) => void;
}

/** The interval of pings to the other side. */
export const pingMs = 1500;
/**
 * The other side counts as lost when nothing arrives for this long. Clients of its cluster must
 * know within ten seconds (docs/adr/0046).
 */
export const pingTimeoutMs = 2000;
export const streamsMax = 2000;

interface Opened {
  readonly stream: MuxStream;
  readonly answered: (head: JsonValue) => void;
}

export class Multiplexer {
  readonly #options: MultiplexerOptions;
  readonly #socket: WebSocketConnection;
  readonly #streams = new Map<number, Opened>();
  #ready: MuxStream[] = [];
  #nextId = 1;
  #isHeld = false;
  #windowBytes = 0;
  #isAsked = false;
  #timer: Timer;

  constructor(options: MultiplexerOptions) {
    this.#options = options;
    const { connection: stream, role, clock } = options;
    this.#socket = new WebSocketConnection({
      stream,
      role,
      messageBytesMax,
      onMessage: (message) => this.#receive(message),
      onAlive: () => {
        if (!this.#isAsked) return;
        this.#isAsked = false;
        this.#timer.cancel();
        this.#timer = clock.schedule(pingMs, this.#ask);
      },
      onDrain: () => {
        this.#isHeld = false;
        this.#pump();
      },
      onClose: (error) => this.#closed(error),
    });
    this.#timer = clock.schedule(pingMs, this.#ask);
  }

  get isOpen(): boolean {
    return this.#socket.isOpen;
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  /**
   * The response head resolves when the other side sends it; the stream fails when the other side
   * sends none.
   */
  open(head: JsonObject): { readonly stream: MuxStream; readonly sendReply: Promise<JsonValue> } {
    const id = this.#nextId++;
    let answered: (value: JsonValue) => void = () => {};
    const sendReply = new Promise<JsonValue>((resolve) => {
      answered = resolve;
    });
    const stream = this.#made(id, answered);
    this.#send(frameKind.open, id, Buffer.from(stringifyJson(head)));
    return { stream, sendReply };
  }

  sendReply(stream: MuxStream, head: JsonObject): void {
    this.#send(frameKind.answer, stream.id, Buffer.from(stringifyJson(head)));
  }

  close(reason = ""): void {
    this.#socket.close(1000, reason);
  }

  #made(id: number, answered: (head: JsonValue) => void): MuxStream {
    const stream: MuxStream = new MuxStream({
      id,
      onReady: (ready) => {
        this.#ready.push(ready);
        this.#pump();
      },
      sendCredit: (bytes) => {
        const payload = Buffer.allocUnsafe(4);
        payload.writeUInt32BE(bytes, 0);
        this.#send(frameKind.credit, id, payload);
      },
      sendEnd: () => this.#send(frameKind.end, id),
      onGone: (reason) => this.#gone(stream, reason),
      mayGrow: (bytes) => {
        const granted = Math.max(0, Math.min(bytes, tunnelCreditBytesMax - this.#windowBytes));
        this.#windowBytes += granted;
        return granted;
      },
    });
    // The user of the stream has listeners of its own; without any, the stream has just ended.
    stream.on("error", () => {});
    this.#streams.set(id, { stream, answered });
    this.#windowBytes += firstCreditBytes;
    return stream;
  }

  #gone(stream: MuxStream, reason: string | undefined): void {
    if (!this.#streams.delete(stream.id)) return;
    this.#windowBytes -= stream.windowBytes;
    if (reason !== undefined) this.#send(frameKind.reset, stream.id, Buffer.from(reason));
  }

  /**
   * Sends one message of each stream that has data, in turn, until the connection applies
   * backpressure.
   */
  #pump(): void {
    while (!this.#isHeld && this.#ready.length > 0) {
      const stream = this.#ready.shift() as MuxStream;
      const bytes = stream.takeOutbound();
      if (bytes === undefined) continue;
      this.#send(frameKind.data, stream.id, bytes);
      if (stream.hasOutbound) this.#ready.push(stream);
      else stream.outboundTaken();
    }
  }

  #send(kind: number, id: number, payload: Uint8Array = new Uint8Array()): void {
    if (!this.#socket.send(frameHead(kind, id), payload)) this.#isHeld = true;
  }

  /** A side that violates the protocol is not trusted from there on. */
  #receive(message: Buffer): void {
    try {
      this.#take(message);
    } catch (error) {
      if (!(error instanceof TunnelError)) throw error;
      this.#socket.destroy(new Error(`the tunnel was broken off: ${error.message}`));
    }
  }

  #take(message: Buffer): void {
    if (message.length < headBytes) throw new TunnelError("a message without a head");
    const kind = message[0] as number;
    const id = message.readUInt32BE(1);
    const payload = message.subarray(headBytes);
    if (kind === frameKind.open) {
      this.#opened(id, payload);
      return;
    }
    // Messages for streams that have just ended here may still be in flight.
    const found = this.#streams.get(id);
    if (found === undefined) return;
    const { stream, answered } = found;
    switch (kind) {
      case frameKind.answer:
        answered(readHead(payload));
        break;
      case frameKind.data:
        stream.received(payload);
        break;
      case frameKind.credit:
        if (payload.length !== 4) throw new TunnelError("credit of no amount");
        stream.credited(payload.readUInt32BE(0));
        break;
      case frameKind.end:
        stream.remoteEnded();
        break;
      case frameKind.reset:
        stream.remoteReset(payload.toString("utf8", 0, reasonBytesMax));
        break;
      default:
        throw new TunnelError(`messages of kind ${kind} mean nothing`);
    }
  }

  #opened(id: number, payload: Buffer): void {
    const { onOpen } = this.#options;
    if (onOpen === undefined || this.#streams.has(id))
      throw new TunnelError("a stream that may not be opened");
    if (this.#streams.size >= streamsMax) {
      this.#send(frameKind.reset, id, Buffer.from(`more than ${streamsMax} streams`));
      return;
    }
    const head = readHead(payload);
    onOpen(
      this.#made(id, () => {}),
      head,
    );
  }

  #closed(found: Error | undefined): void {
    this.#timer.cancel();
    const isBroken = found === undefined && !this.#socket.isClosing;
    const error = isBroken ? new Error("the other side went away without a word") : found;
    const reason = error ?? new Error("the tunnel was closed");
    for (const { stream } of [...this.#streams.values()]) stream.remoteReset(reason.message);
    this.#ready = [];
    this.#options.onClose(error);
  }

  readonly #ask = () => {
    this.#isAsked = true;
    this.#timer = awakeDeadline(this.#options.clock, pingTimeoutMs, () =>
      this.#socket.destroy(new Error("the other side of the tunnel has been silent for too long")),
    );
    this.#socket.ping();
  };
}

const reasonBytesMax = 1024;

function readHead(payload: Buffer): JsonValue {
  try {
    return parseJson(payload.toString("utf8")).value;
  } catch (error) {
    if (error instanceof Error && error.name === "JsonSyntaxError")
      throw new TunnelError(error.message);
    throw error;
  }
}
