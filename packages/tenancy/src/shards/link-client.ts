/** The side of a connection between shards that sends requests. */
import type { Duplex } from "node:stream";
import type { ApiResponse } from "@kcp-ts/apiserver/request/api-request";
import { parseJson } from "@kcp-ts/machinery/json";
import { pipeBothWays } from "../mounts/index.ts";
import {
  FrameWriter,
  frameType,
  linkMethods,
  ReceivedTexts,
  receiveFrames,
  SentTexts,
} from "./link-frames.ts";
import { InboundBytes, OutboundBytes, sessionOf } from "./link-stream.ts";
import type { ShardRoute } from "./shard-connections.ts";

export interface LinkRequest {
  /** One of `linkMethods`. */
  readonly method: string;
  readonly target: string;
  /** JSON of the headers, and of who sends them: both are sent once and then known by a number. */
  readonly headersText: string;
  readonly senderText: string;
  readonly hops: number;
  /** The shard itself asks, and no client of it: only then may the target be an operation. */
  readonly isOfShard?: boolean | undefined;
  /** Reads the body when the other side wants it. */
  readonly readBody: (() => Promise<Uint8Array>) | undefined;
  readonly onClose: ((callback: () => void) => void) | undefined;
}

export type LinkResponse =
  | ApiResponse
  | { readonly movedTo: ShardRoute }
  /** The other shard has no such cluster. */
  | "unknown"
  /** The connection ended before the request was sent; nothing has happened. */
  | "not-sent";

export const responseFlag = { complete: 1, watch: 2, session: 4, auditId: 8 } as const;

interface Waiting {
  readonly request: LinkRequest;
  readonly settle: (answer: LinkResponse) => void;
  readonly fail: (error: Error) => void;
  inbound: InboundBytes | undefined;
  outbound: OutboundBytes | undefined;
}

export class LinkEndedError extends Error {
  override readonly name = "LinkEndedError";
}

export class LinkClient {
  readonly #connection: Duplex;
  readonly #writer: FrameWriter;
  readonly #texts = new SentTexts();
  readonly #headers = new ReceivedTexts<ApiResponse["headers"]>(
    (text) => parseJson(text).value as ApiResponse["headers"],
  );
  readonly #requests = new Map<number, Waiting>();
  readonly #onEnd: () => void;
  #lastId = 0;
  /** Why this side has ended the connection. */
  #cause: unknown;
  #isOver = false;

  constructor(connection: Duplex, onEnd: () => void) {
    this.#connection = connection;
    this.#onEnd = onEnd;
    this.#writer = new FrameWriter(connection);
    receiveFrames(connection, {
      onFrame: (type, id, payload) => this.#onFrame(type, id, payload),
      onError: (error) => {
        this.#cause = error;
      },
      onClose: () => this.#ended(),
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get openRequests(): number {
    return this.#requests.size;
  }

  request(request: LinkRequest): Promise<LinkResponse> {
    return new Promise((settle, fail) => {
      if (this.#isOver) return settle("not-sent");
      const id = this.#nextId();
      this.#requests.set(id, { request, settle, fail, inbound: undefined, outbound: undefined });
      this.#sendHead(id, request);
      request.onClose?.(() => this.#cancel(id));
    });
  }

  close(): void {
    this.#connection.destroy();
  }

  #nextId(): number {
    do this.#lastId = (this.#lastId + 1) % 0x7fffffff;
    while (this.#requests.has(this.#lastId));
    return this.#lastId;
  }

  /** hops (1) | method (1) | headers (4) | sender (4) | target */
  #sendHead(id: number, request: LinkRequest): void {
    const { method, target, headersText, senderText, hops, isOfShard = false } = request;
    const writer = this.#writer;
    let sender = this.#texts.numberOf(senderText, writer);
    const headers = this.#texts.numberOf(headersText, writer);
    // The second text may have been one too many, and then the first one is forgotten.
    sender = this.#texts.numberOf(senderText, writer);
    const length = 10 + Buffer.byteLength(target);
    const type = isOfShard ? frameType.requestOfShard : frameType.request;
    const at = writer.begin(type, id, length);
    const { buffer } = writer;
    buffer[at] = hops;
    buffer[at + 1] = linkMethods.indexOf(method);
    buffer.writeUInt32BE(headers, at + 2);
    buffer.writeUInt32BE(sender, at + 6);
    buffer.write(target, at + 10, length - 10, "utf8");
  }

  #onFrame(type: number, id: number, payload: Buffer): void {
    if (type === frameType.text) this.#headers.add(id, payload);
    else if (type === frameType.forgetTexts) this.#headers.clear();
    else this.#onAnswer(type, id, payload);
  }

  #onAnswer(type: number, id: number, payload: Buffer): void {
    const waiting = this.#requests.get(id);
    // The request was given up.
    if (waiting === undefined) return;
    if (type === frameType.response) this.#onResponse(id, waiting, payload);
    else if (type === frameType.data) waiting.inbound?.add(payload);
    else if (type === frameType.end) this.#done(id, waiting);
    else if (type === frameType.cancel) this.#done(id, waiting, new LinkEndedError("cancelled"));
    else if (type === frameType.window) waiting.outbound?.allow(payload.readUInt32BE(0));
    else if (type === frameType.wantBody) void this.#sendBody(id, waiting);
    else if (type === frameType.moved) {
      this.#requests.delete(id);
      waiting.settle({ movedTo: parseJson(payload.toString()).value as unknown as ShardRoute });
    } else if (type === frameType.unknown) {
      this.#requests.delete(id);
      waiting.settle("unknown");
    }
  }

  /** flags (1) | status (2) | headers (4) | length of an audit ID (1), and the ID | body */
  #onResponse(id: number, waiting: Waiting, payload: Buffer): void {
    const flags = payload[0] as number;
    const status = payload.readUInt16BE(1);
    const headers = { ...this.#headers.get(payload.readUInt32BE(3)) };
    const auditLength = payload[7] as number;
    if (auditLength > 0) headers["audit-id"] = payload.toString("latin1", 8, 8 + auditLength);
    const rest = payload.subarray(8 + auditLength);
    if ((flags & responseFlag.complete) !== 0) {
      this.#requests.delete(id);
      const body = rest.length === 0 ? undefined : rest;
      waiting.settle({ status, headers, body });
      return;
    }
    const inbound = new InboundBytes(id, this.#writer, () => this.#cancel(id));
    waiting.inbound = inbound;
    if ((flags & responseFlag.session) !== 0) {
      waiting.outbound = new OutboundBytes(id, this.#writer);
      waiting.settle(this.#session(id, { status, headers, inbound, outbound: waiting.outbound }));
      return;
    }
    const isWatch = (flags & responseFlag.watch) !== 0;
    waiting.settle({ status, headers, body: inbound, ...(isWatch ? { isWatch } : {}) });
  }

  #session(id: number, { status, headers, inbound, outbound }: SessionParts): ApiResponse {
    const connection = sessionOf(inbound, outbound, () => this.#cancel(id));
    const onUpgrade = (client: Duplex) => pipeBothWays(client, connection);
    return { status, headers, body: undefined, onUpgrade };
  }

  async #sendBody(id: number, waiting: Waiting): Promise<void> {
    const outbound = new OutboundBytes(id, this.#writer);
    waiting.outbound = outbound;
    try {
      const body = await waiting.request.readBody?.();
      if (body !== undefined) await outbound.send(body);
      outbound.end();
    } catch (error) {
      this.#cancel(id);
      waiting.fail(error as Error);
    }
  }

  #cancel(id: number): void {
    const waiting = this.#requests.get(id);
    if (waiting === undefined) return;
    this.#writer.plain(frameType.cancel, id);
    this.#done(id, waiting, new LinkEndedError("the client has left"));
  }

  #done(id: number, waiting: Waiting, error?: Error): void {
    this.#requests.delete(id);
    waiting.outbound?.stop();
    if (waiting.inbound !== undefined) waiting.inbound.end(error);
    else waiting.fail(error ?? new LinkEndedError("a response without a beginning"));
  }

  #ended(): void {
    this.#isOver = true;
    this.#writer.closed();
    const cause = this.#cause;
    const error = new LinkEndedError("the connection to the shard has ended", { cause });
    for (const [id, waiting] of this.#requests) this.#done(id, waiting, error);
    this.#onEnd();
  }
}

interface SessionParts {
  readonly status: number;
  readonly headers: ApiResponse["headers"];
  readonly inbound: InboundBytes;
  readonly outbound: OutboundBytes;
}
