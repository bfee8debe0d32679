/** The side of a connection between shards that serves requests. */
import { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import {
  type ApiRequest,
  type ApiResponse,
  cancelBody,
  type HeaderRecord,
  type MaybePromise,
} from "@kcp-ts/apiserver/request/api-request";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import { parseJson } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { responseFlag } from "./link-client.ts";
import {
  dataBytesMax,
  FrameWriter,
  frameType,
  linkMethods,
  ReceivedTexts,
  receiveFrames,
  SentTexts,
} from "./link-frames.ts";
import { InboundBytes, OutboundBytes, sessionOf } from "./link-stream.ts";
import type { ShardRoute } from "./shard-connections.ts";

/** A request of another shard: for a client of it, or of the shard itself. */
export interface RequestOfShard extends ApiRequest {
  /** How many shards have sent it on. */
  readonly hops: number;
  /** The other shard itself asks, and no client of it. */
  readonly isOfShard: boolean;
  readonly fromShard: string;
}

/** What a shard answers: a response, or where to ask instead. */
export type Served = ApiResponse | { readonly movedTo: ShardRoute } | "unknown";

export interface LinkServerOptions {
  /** The shard at the other end, which its certificate has named. */
  readonly from: string;
  readonly serve: (request: RequestOfShard) => MaybePromise<Served>;
  readonly onError: (error: unknown) => void;
}

/** What a client has proved to the shard that sends its request on. */
export interface Sender {
  readonly remoteAddress: string;
  /** The certificate whose key it holds. */
  readonly certificate?: string | undefined;
  /** Who it is, where only the sending shard can know that. */
  readonly user?: UserInfo | undefined;
}

interface ReadSender {
  readonly remoteAddress: string;
  readonly certificate: X509Certificate | undefined;
  readonly user: UserInfo | undefined;
}

function readSender(text: string): ReadSender {
  const { remoteAddress, certificate, user } = parseJson(text).value as unknown as Sender;
  return {
    remoteAddress,
    user,
    certificate:
      certificate === undefined
        ? undefined
        : new X509Certificate(Buffer.from(certificate, "base64")),
  };
}

export class LinkServer {
  readonly #options: LinkServerOptions;
  readonly #connection: Duplex;
  readonly #writer: FrameWriter;
  readonly #sent = new SentTexts();
  readonly #headers = new ReceivedTexts((text) => parseJson(text).value as HeaderRecord);
  readonly #senders = new ReceivedTexts(readSender);
  readonly #exchanges = new Map<number, Exchange>();

  constructor(connection: Duplex, options: LinkServerOptions) {
    this.#options = options;
    this.#connection = connection;
    this.#writer = new FrameWriter(connection);
    receiveFrames(connection, {
      onFrame: (type, id, payload) => this.#onFrame(type, id, payload),
      onError: options.onError,
      onClose: () => this.#ended(),
    });
  }

  close(): void {
    this.#connection.destroy();
  }

  #ended(): void {
    this.#writer.closed();
    for (const exchange of this.#exchanges.values()) exchange.leave();
    this.#exchanges.clear();
  }

  #onFrame(type: number, id: number, payload: Buffer): void {
    if (type === frameType.request || type === frameType.requestOfShard)
      this.#onRequest(id, payload, type === frameType.requestOfShard);
    else if (type === frameType.text) {
      this.#headers.add(id, payload);
      this.#senders.add(id, payload);
    } else if (type === frameType.forgetTexts) {
      this.#headers.clear();
      this.#senders.clear();
    } else this.#onPart(type, id, payload);
  }

  #onPart(type: number, id: number, payload: Buffer): void {
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) return;
    if (type === frameType.data) exchange.inbound?.add(payload);
    else if (type === frameType.end) exchange.inbound?.end();
    else if (type === frameType.window) exchange.outbound?.allow(payload.readUInt32BE(0));
    else if (type === frameType.cancel) {
      this.#exchanges.delete(id);
      exchange.leave();
    }
  }

  #onRequest(id: number, payload: Buffer, isOfShard: boolean): void {
    const method = linkMethods[payload[1] as number];
    if (method === undefined) throw new Error("an unknown method between shards");
    const headers = this.#headers.get(payload.readUInt32BE(2));
    const sender = this.#senders.get(payload.readUInt32BE(6));
    const exchange = new Exchange(id, this.#writer, {
      hops: payload[0] as number,
      isOfShard,
      method,
      target: payload.toString("utf8", 10),
      headers,
      sender,
      fromShard: this.#options.from,
    });
    this.#exchanges.set(id, exchange);
    try {
      const served = this.#options.serve(exchange);
      if (!(served instanceof Promise)) this.#answer(exchange, served);
      else
        served.then(
          (answer) => this.#answer(exchange, answer),
          (error: unknown) => this.#failed(exchange, error),
        );
    } catch (error) {
      this.#failed(exchange, error);
    }
  }

  #failed(exchange: Exchange, error: unknown): void {
    this.#options.onError(error);
    this.#exchanges.delete(exchange.id);
    this.#writer.plain(frameType.cancel, exchange.id);
  }

  #answer(exchange: Exchange, answer: Served): void {
    const { id } = exchange;
    exchange.isAnswered = true;
    if (answer === "unknown") {
      this.#exchanges.delete(id);
      this.#writer.plain(frameType.unknown, id);
    } else if ("movedTo" in answer) {
      this.#exchanges.delete(id);
      this.#writer.bytes(frameType.moved, id, Buffer.from(JSON.stringify(answer.movedTo)));
    } else if (!this.#exchanges.has(id)) cancelBody(answer.body);
    else this.#respond(exchange, answer);
  }

  #respond(exchange: Exchange, response: ApiResponse): void {
    const { id } = exchange;
    const { body, onUpgrade } = response;
    if (onUpgrade !== undefined) this.#session(exchange, response, onUpgrade);
    else if (body === undefined || (body instanceof Uint8Array && body.length <= dataBytesMax)) {
      this.#exchanges.delete(id);
      this.#head(id, response, responseFlag.complete, body);
    } else {
      this.#head(id, response, response.isWatch === true ? responseFlag.watch : 0, undefined);
      exchange.outbound = new OutboundBytes(id, this.#writer);
      this.#stream(exchange, exchange.outbound, body).catch((error: unknown) => {
        if (this.#exchanges.has(id)) this.#failed(exchange, error);
      });
    }
  }

  async #stream(
    { id }: Exchange,
    outbound: OutboundBytes,
    body: Uint8Array | AsyncIterable<Uint8Array>,
  ): Promise<void> {
    if (body instanceof Uint8Array) await outbound.send(body);
    else
      for await (const part of body) {
        await outbound.send(part);
        if (outbound.isOver) break;
      }
    outbound.end();
    this.#exchanges.delete(id);
  }

  #session(
    exchange: Exchange,
    answer: ApiResponse,
    onUpgrade: NonNullable<ApiResponse["onUpgrade"]>,
  ): void {
    const { id } = exchange;
    this.#head(id, answer, responseFlag.session, undefined);
    const outbound = new OutboundBytes(id, this.#writer);
    const inbound = new InboundBytes(id, this.#writer, () => {});
    exchange.outbound = outbound;
    exchange.inbound = inbound;
    const connection = sessionOf(inbound, outbound, () => this.#exchanges.delete(id));
    exchange.onClose(() => connection.destroy());
    onUpgrade(connection);
  }

  #head(
    id: number,
    { status, headers }: ApiResponse,
    flags: number,
    body: Uint8Array | undefined,
  ): void {
    const writer = this.#writer;
    const { "audit-id": auditId, date: _date, ...rest } = headers;
    const text = typeof auditId === "string" ? auditId : "";
    const number = this.#sent.numberOf(JSON.stringify(rest), writer);
    const length = 8 + text.length + (body?.length ?? 0);
    const at = writer.begin(frameType.response, id, length);
    const { buffer } = writer;
    buffer[at] = flags;
    buffer.writeUInt16BE(status, at + 1);
    buffer.writeUInt32BE(number, at + 3);
    buffer[at + 7] = text.length;
    buffer.write(text, at + 8, "latin1");
    if (body !== undefined) buffer.set(body, at + 8 + text.length);
  }
}

interface RequestHead {
  readonly hops: number;
  readonly isOfShard: boolean;
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderRecord;
  readonly sender: ReadSender;
  readonly fromShard: string;
}

/** One request, as the server sees it. */
class Exchange implements RequestOfShard {
  readonly id: number;
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderRecord;
  readonly remoteAddress: string;
  readonly clientCertificate: X509Certificate | undefined;
  readonly vouchedUser: UserInfo | undefined;
  readonly hops: number;
  readonly isOfShard: boolean;
  readonly fromShard: string;
  inbound: InboundBytes | undefined;
  outbound: OutboundBytes | undefined;
  isAnswered = false;
  readonly #writer: FrameWriter;
  #onLeave: (() => void)[] | undefined;
  #hasLeft = false;

  constructor(id: number, writer: FrameWriter, head: RequestHead) {
    this.id = id;
    this.#writer = writer;
    const { sender } = head;
    this.method = head.method;
    this.target = head.target;
    this.headers = head.headers;
    this.hops = head.hops;
    this.isOfShard = head.isOfShard;
    this.fromShard = head.fromShard;
    this.remoteAddress = sender.remoteAddress;
    this.clientCertificate = sender.certificate;
    this.vouchedUser = sender.user;
  }

  onClose(callback: () => void): void {
    if (this.#hasLeft) callback();
    else if (this.#onLeave === undefined) this.#onLeave = [callback];
    else this.#onLeave.push(callback);
  }

  leave(): void {
    this.#hasLeft = true;
    this.outbound?.stop();
    this.inbound?.end(new Error("the client has left"));
    for (const callback of this.#onLeave ?? []) callback();
  }

  async readBody(bytesMax: number, onPart?: (bytes: number) => void): Promise<Uint8Array> {
    if (this.method === "GET" || this.method === "HEAD" || this.isAnswered) return noBytes;
    this.#writer.plain(frameType.wantBody, this.id);
    this.inbound = new InboundBytes(this.id, this.#writer, () => {});
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of this.inbound) {
      bytes += part.length;
      if (bytes > bytesMax) throw statusError.tooLarge(`limit is ${bytesMax}`);
      onPart?.(part.length);
      parts.push(part);
    }
    return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
  }
}

const noBytes = new Uint8Array();
