/**
 * A WebSocket on an upgraded connection: messages out with back-pressure, messages in as fast as
 * the owner reads them.
 *
 * It responds to pings and closes by itself, and destroys the connection when the peer violates the
 * protocol.
 */
import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import { encodeFrame, type Frame, FrameReader, opcode, WebSocketError } from "./frames.ts";

export interface WebSocketOptions {
  readonly stream: Duplex;
  readonly role: "client" | "server";
  readonly messageBytesMax: number;
  /** A complete message; the bytes belong to the receiver. */
  readonly onMessage: (message: Buffer, isText: boolean) => void;
  /** Any frame arrived, if only a pong: the peer is alive. */
  readonly onAlive?: (() => void) | undefined;
  /** The send buffer has drained: `send` may continue. */
  readonly onDrain?: (() => void) | undefined;
  /** Called once, with the error if there was one. */
  readonly onClose: (error: Error | undefined) => void;
}

const closeNormal = 1000;
/** Mask keys are drawn from the system's random source in batches. */
const maskKeysAtOnce = 1024;

export class WebSocketConnection {
  readonly #options: WebSocketOptions;
  readonly #reader: FrameReader;
  #fragments: Buffer[] = [];
  #fragmentBytes = 0;
  #isText = false;
  #keys: Uint8Array = new Uint8Array();
  #hasSentClose = false;
  #isClosed = false;
  #error: Error | undefined;

  constructor(options: WebSocketOptions) {
    this.#options = options;
    const { stream, role, messageBytesMax } = options;
    this.#reader = new FrameReader({
      expectsMask: role === "server",
      payloadBytesMax: messageBytesMax,
    });
    stream.on("data", (bytes: Buffer) => this.#receive(bytes));
    stream.on("drain", () => options.onDrain?.());
    stream.on("error", (error: Error) => {
      this.#error ??= error;
    });
    stream.on("end", () => this.#end());
    stream.once("close", () => this.#closed());
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#hasSentClose;
  }

  /** One of the two sides has sent a close frame: an end after that is not an error. */
  get isClosing(): boolean {
    return this.#hasSentClose;
  }

  /** Bytes in the send buffer. */
  get queuedBytes(): number {
    return this.#options.stream.writableLength;
  }

  /** Sends one binary message of these parts. False: wait for `onDrain` before sending more. */
  send(...parts: readonly Uint8Array[]): boolean {
    return this.#write(opcode.binary, parts);
  }

  ping(): void {
    this.#write(opcode.ping, []);
  }

  /** Sends a close frame with the reason, and ends the connection after it. */
  close(code = closeNormal, reason = ""): void {
    if (!this.isOpen) return;
    const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
    payload.writeUInt16BE(code, 0);
    payload.write(reason, 2);
    this.#write(opcode.close, [payload]);
    this.#hasSentClose = true;
    this.#end();
  }

  destroy(error?: Error): void {
    this.#error ??= error;
    this.#options.stream.destroy();
  }

  pause(): void {
    this.#options.stream.pause();
  }

  resume(): void {
    this.#options.stream.resume();
  }

  #write(code: number, parts: readonly Uint8Array[]): boolean {
    if (!this.isOpen) return false;
    const key = this.#options.role === "client" ? this.#nextKey() : undefined;
    return this.#options.stream.write(encodeFrame(code, parts, key));
  }

  #nextKey(): Uint8Array {
    if (this.#keys.length < 4) this.#keys = randomBytes(4 * maskKeysAtOnce);
    const key = this.#keys.subarray(0, 4);
    this.#keys = this.#keys.subarray(4);
    return key;
  }

  #receive(bytes: Buffer): void {
    this.#options.onAlive?.();
    try {
      this.#reader.push(bytes);
      for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
        this.#take(frame);
        if (this.#isClosed) return;
      }
    } catch (error) {
      if (!(error instanceof WebSocketError)) throw error;
      this.#error ??= error;
      this.close(error.code, error.message);
    }
  }

  #take({ opcode: code, isFinal, payload }: Frame): void {
    switch (code) {
      case opcode.ping:
        this.#write(opcode.pong, [payload]);
        return;
      case opcode.pong:
        return;
      case opcode.close:
        this.close(closeNormal);
        return;
      case opcode.text:
      case opcode.binary:
        if (this.#fragments.length > 0)
          throw new WebSocketError(1002, "a message begins within another");
        this.#isText = code === opcode.text;
        break;
      case opcode.continuation:
        if (this.#fragments.length === 0)
          throw new WebSocketError(1002, "the rest of a message that has not begun");
        break;
      default:
        throw new WebSocketError(1002, `frames of kind ${code} mean nothing`);
    }
    if (isFinal && this.#fragments.length === 0) {
      this.#options.onMessage(payload, this.#isText);
      return;
    }
    this.#fragments.push(payload);
    this.#fragmentBytes += payload.length;
    if (this.#fragmentBytes > this.#options.messageBytesMax)
      throw new WebSocketError(1009, `more than ${this.#options.messageBytesMax} bytes at once`);
    if (!isFinal) return;
    const message = Buffer.concat(this.#fragments);
    this.#fragments = [];
    this.#fragmentBytes = 0;
    this.#options.onMessage(message, this.#isText);
  }

  #end(): void {
    const { stream } = this.#options;
    stream.end(() => stream.destroy());
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.onClose(this.#error);
  }
}
