/**
 * A watch over a WebSocket (RFC 6455): each event is a text message, as in kube-apiserver. For
 * pages in browsers, where reading a stream of lines is harder.
 *
 * The client sends only control frames: a ping gets a pong, a close ends the watch, other frames
 * are ignored.
 */
import { createHash } from "node:crypto";
import type { Duplex } from "node:stream";
import {
  type ApiRequest,
  type ApiResponse,
  cancelBody,
  header,
  requestedUpgrade,
  responseHeaders,
} from "../request/api-request.ts";
import { pipe } from "./pipe.ts";
import { splitLines } from "./split-lines.ts";

/**
 * Converts the response of a watch to a WebSocket for clients that request one; other responses are
 * unchanged.
 */
export function watchOverWebSocket(answer: ApiResponse, request: ApiRequest): ApiResponse {
  const { body, isWatch, status, throttle, headers, unread } = answer;
  if (isWatch !== true || status !== 200 || body === undefined || body instanceof Uint8Array)
    return answer;
  if (requestedUpgrade(request.headers) !== "websocket") return answer;
  const handshake = handshakeOf(request);
  if (typeof handshake === "string") {
    cancelBody(body);
    return { status: 400, headers: responseHeaders(plainText), body: Buffer.from(handshake) };
  }
  const onUpgrade = (connection: Duplex) => {
    receiveFrames(connection);
    if (unread !== undefined) unread.onReset = () => connection.destroy();
    pipe(messages(body), connection, { throttle, unread }).then(
      () => connection.end(frame(opcode.close, closeOf(1000)), () => connection.destroy()),
      (error) => connection.destroy(error instanceof Error ? error : undefined),
    );
  };
  return { status: 101, headers: { ...headers, ...handshake }, body: undefined, onUpgrade };
}

const plainText = "text/plain; charset=utf-8";

const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** Browsers send their token as a subprotocol; it is not offered back. */
const tokenProtocol = /^base64url\.bearer\.authorization\.k8s\.io\./i;

/** The response headers of the handshake, or the error. */
function handshakeOf(request: ApiRequest): Record<string, string> | string {
  const { headers } = request;
  const key = header(headers, "sec-websocket-key") ?? "";
  if (header(headers, "sec-websocket-version") !== "13") return "missing or bad WebSocket Version";
  if (Buffer.from(key, "base64").length !== 16) return "missing or bad WebSocket key";
  const offered = (header(headers, "sec-websocket-protocol") ?? "")
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "" && !tokenProtocol.test(each));
  if (offered.length > 1) return "missing or bad WebSocket protocol";
  const accept = createHash("sha1").update(`${key}${magic}`).digest("base64");
  return {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-accept": accept,
    ...(offered[0] === undefined ? {} : { "sec-websocket-protocol": offered[0] }),
  };
}

const opcode = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 } as const;
/** The maximum size of a client's frame; a larger one closes the connection. */
const heardBytesMax = 64 << 10;
/** Longer events are sent in fragments: pongs may be sent between fragments, and only there. */
const fragmentBytesMax = 32 << 10;
/** A client that sends pings and does not read gets no pongs. */
const unreadBytesMax = 64 << 10;

async function* messages(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const line of splitLines(body))
    for (let at = 0; at < line.length; at += fragmentBytesMax) {
      const fragment = line.subarray(at, at + fragmentBytesMax);
      const isLast = at + fragment.length === line.length;
      yield frame(at === 0 ? opcode.text : opcode.continuation, fragment, isLast);
    }
}

function frame(code: number, payload: Uint8Array, isLast = true): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = (isLast ? 0x80 : 0) | code;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  else if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

function closeOf(status: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(status);
  return bytes;
}

/** Reads the client's frames while they conform to the protocol. */
function receiveFrames(connection: Duplex): void {
  let held = Buffer.alloc(0);
  const end = (status: number) => {
    connection.removeAllListeners("data");
    connection.resume();
    connection.end(frame(opcode.close, closeOf(status)), () => connection.destroy());
  };
  connection.on("end", () => connection.destroy());
  connection.on("data", (bytes: Buffer) => {
    held = Buffer.concat([held, bytes]);
    for (let heard = readFrame(held); heard !== undefined; heard = readFrame(held)) {
      if (typeof heard === "number") return end(heard);
      if (heard.code === opcode.close) return end(1000);
      if (heard.code === opcode.ping && connection.writableLength < unreadBytesMax)
        connection.write(frame(opcode.pong, heard.payload));
      held = held.subarray(heard.end);
    }
  });
}

interface ReceivedFrame {
  readonly code: number;
  readonly payload: Buffer;
  readonly end: number;
}

/**
 * The first frame, undefined when it is incomplete, or the status code that closes the connection.
 */
function readFrame(bytes: Buffer): ReceivedFrame | number | undefined {
  if (bytes.length < 2) return undefined;
  const [first, second] = [bytes[0] as number, bytes[1] as number];
  if ((second & 0x80) === 0) return 1002;
  const short = second & 0x7f;
  if (short === 127) return 1009;
  const maskAt = short === 126 ? 4 : 2;
  if (bytes.length < maskAt + 4) return undefined;
  const length = short === 126 ? bytes.readUInt16BE(2) : short;
  if (length > heardBytesMax) return 1009;
  const end = maskAt + 4 + length;
  if (bytes.length < end) return undefined;
  const payload = Buffer.from(bytes.subarray(maskAt + 4, end));
  for (let at = 0; at < length; at++) (payload[at] as number) ^= bytes[maskAt + (at % 4)] as number;
  return { code: first & 0x0f, payload, end };
}
