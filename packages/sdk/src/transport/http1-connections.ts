/**
 * HTTP/1.1 to one server: for proxies and old servers without HTTP/2. Each watch uses a connection.
 */
import {
  type Agent,
  Agent as HttpAgent,
  request as httpRequest,
  type RequestOptions,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import {
  onAbort,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../client/index.ts";
import { acceptedEncoding, decodedBody } from "./decoded-body.ts";
import { connectionLostError } from "./stream-body.ts";

export interface Http1Options {
  /** The value of the Host header. */
  readonly host: string;
  readonly connect: () => Promise<Socket>;
  readonly compression: boolean;
}

export class Http1Connections {
  readonly #options: Http1Options;
  #agent: Agent;

  constructor(options: Http1Options) {
    this.#options = options;
    this.#agent = new DialingAgent(options.connect);
  }

  send(request: TransportRequest): Promise<TransportResponse> {
    const { signal, method, path } = request;
    return new Promise((resolve, reject) => {
      const failure = (cause: unknown) => {
        if (signal?.aborted) return signal.reason;
        return isTransportErrorFromDial(cause)
          ? cause
          : connectionLostError(`${method} ${path}`, cause);
      };
      const outgoing = httpRequest({
        agent: this.#agent,
        method,
        path,
        headers: headersOf(request, this.#options),
      });
      const stopListening = onAbort(signal, () => {
        outgoing.destroy();
        reject(signal?.reason);
      });
      let answered = false;
      outgoing.on("response", (incoming) => {
        answered = true;
        const body = decodedBody({
          stream: incoming,
          contentEncoding: incoming.headers["content-encoding"],
          isComplete: () => incoming.complete,
          cancel: () => outgoing.destroy(),
          failure,
        });
        incoming.on("error", (error) => body.closed(error));
        incoming.on("close", () => body.closed());
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body });
      });
      outgoing.on("error", (error) => reject(failure(error)));
      outgoing.on("close", () => {
        stopListening();
        if (!answered) reject(failure(undefined));
      });
      outgoing.end(request.body);
    });
  }

  /** Closes idle connections now, busy ones after their request. */
  retire(): void {
    const old = this.#agent;
    this.#agent = new DialingAgent(this.#options.connect);
    for (const sockets of Object.values(old.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

class DialingAgent extends HttpAgent {
  readonly #connect: () => Promise<Socket>;

  constructor(connect: () => Promise<Socket>) {
    super({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
    this.#connect = connect;
  }

  /** Part of Node's documentation, but not of its types. */
  createConnection(
    _options: RequestOptions,
    callback: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#connect().then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, undefined as unknown as Duplex),
    );
  }
}

function headersOf(
  request: TransportRequest,
  { host, compression }: Http1Options,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { host };
  if (compression && request.mayBeLong === true) headers["accept-encoding"] = acceptedEncoding;
  for (const [name, value] of Object.entries(request.headers)) {
    headers[name] = typeof value === "string" ? value : [...value];
  }
  if (request.body !== undefined) {
    headers["content-length"] = String(Buffer.byteLength(request.body));
  }
  return headers;
}

function isTransportErrorFromDial(cause: unknown): cause is TransportError {
  return cause instanceof TransportError;
}
