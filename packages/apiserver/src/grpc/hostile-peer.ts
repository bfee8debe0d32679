/**
 * Peers for tests: an HTTP/2 server with arbitrary responses, and a TCP server with arbitrary
 * bytes.
 */
import { once } from "node:events";
import {
  createServer as createHttp2Server,
  type Http2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createTcpServer, type Socket } from "node:net";
import { type Endpoint, parseEndpoint } from "./endpoint.ts";
import { encodeFrame } from "./frames.ts";

export interface Peer {
  readonly endpoint: Endpoint;
  readonly sessions: Set<Http2Session>;
  dispose(): Promise<void>;
}

export async function startPeer(
  answer: (stream: ServerHttp2Stream, path: string) => void,
): Promise<Peer> {
  const server = createHttp2Server();
  const sessions = new Set<Http2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => session.destroy());
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => stream.destroy());
    answer(stream, String(headers[":path"]));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    endpoint: parseEndpoint(`http://127.0.0.1:${port}`),
    sessions,
    async dispose() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A TCP server that calls the test for each connection. */
export async function startTcpPeer(onSocket: (socket: Socket) => void): Promise<Peer> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    endpoint: parseEndpoint(`http://127.0.0.1:${port}`),
    sessions: new Set(),
    async dispose() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A valid response: one message, status OK. */
export function respondWith(stream: ServerHttp2Stream, message: Uint8Array): void {
  respondRaw(stream, encodeFrame(message), { "grpc-status": "0" });
}

/** Responds with any bytes, and trailers if given. */
export function respondRaw(
  stream: ServerHttp2Stream,
  bytes: Uint8Array,
  trailers?: Record<string, string>,
): void {
  stream.respond(
    { ":status": 200, "content-type": "application/grpc" },
    { waitForTrailers: trailers !== undefined },
  );
  if (trailers !== undefined) stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(bytes);
}
