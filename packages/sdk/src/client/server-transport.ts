/**
 * A transport to a server in the same process: requests pass every stage of the server, without a
 * socket.
 *
 * The server is declared only by the shape of its requests, so that this package does not import
 * it.
 */
import { onAbort } from "@kcp-ts/machinery/base";
import { statusError } from "@kcp-ts/machinery/status";
import { AbortableBody } from "./abortable-body.ts";
import { InProcessTransport } from "./in-process-transport.ts";
import { type Transport, TransportError, type TransportRequest } from "./transport.ts";

export interface ServerRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly remoteAddress: string;
  readonly clientCertificate: undefined;
  onClose(callback: () => void): void;
  readBody(bytesMax: number): Promise<Uint8Array>;
}

export interface ServerResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | undefined;
}

export interface ServerTransportOptions {
  readonly server: {
    readonly handle: (request: ServerRequest) => ServerResponse | Promise<ServerResponse>;
  };
  /** Sent with every request. */
  readonly authorization: string;
  /**
   * The requests that start in one turn of the event loop; all if omitted. Control loops run in a
   * chain of requests that are answered at once: without a limit, requests from the network wait
   * until all of them have been answered.
   */
  readonly requestsPerTurn?: number;
}

export function serverTransport(options: ServerTransportOptions): Transport {
  const { server, authorization, requestsPerTurn } = options;
  const turns = requestsPerTurn === undefined ? undefined : new Turns(requestsPerTurn);
  return new InProcessTransport(async (request) => {
    if (turns !== undefined && !turns.take()) {
      await turns.next();
      request.signal?.throwIfAborted();
    }
    const call = new InProcessCall(request, authorization);
    try {
      const { status, headers, body } = await server.handle(call.request);
      if (body === undefined || body instanceof Uint8Array) {
        call.end();
        return { status, headers, body: body ?? "" };
      }
      return { status, headers, body: call.stream(body) };
    } catch (error) {
      call.leave();
      request.signal?.throwIfAborted();
      throw lost(error);
    }
  });
}

/** Lets so many requests begin in each turn of the event loop, in the order of their arrival. */
class Turns {
  readonly #perTurn: number;
  #left: number;
  #isScheduled = false;
  readonly #waiting: (() => void)[] = [];

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
    this.#left = perTurn;
  }

  /** Whether a request may begin now. */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    this.#schedule();
    return true;
  }

  /** Resolves in the turn in which the request may begin. */
  next(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#left = this.#perTurn;
      while (this.#left > 0 && this.#waiting.length > 0) {
        this.#left--;
        this.#waiting.shift()?.();
      }
      if (this.#left < this.#perTurn) this.#schedule();
    });
  }
}

/**
 * One request: notifies the server when its client disconnects, and the client when the server ends
 * the response.
 */
class InProcessCall {
  readonly request: ServerRequest;
  readonly #signal: AbortSignal | undefined;
  readonly #callbacks: (() => void)[] = [];
  readonly #stopListening: () => void;
  #state: "open" | "answered" | "left" = "open";

  constructor({ method, path, headers, body, signal }: TransportRequest, authorization: string) {
    this.#signal = signal;
    this.request = {
      method,
      target: path,
      headers: { ...headers, authorization },
      remoteAddress: "127.0.0.1",
      clientCertificate: undefined,
      onClose: (callback) => {
        if (this.#state === "left") callback();
        else this.#callbacks.push(callback);
      },
      readBody: async (bytesMax) => {
        const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
        if ((bytes?.length ?? 0) > bytesMax) throw statusError.tooLarge(`limit is ${bytesMax}`);
        return bytes ?? new Uint8Array();
      },
    };
    this.#stopListening = onAbort(signal, () => this.leave());
  }

  /** Whether the response is complete. */
  end(): void {
    if (this.#state === "open") this.#state = "answered";
    this.#stopListening();
  }

  leave(): void {
    if (this.#state !== "open") return;
    this.#state = "left";
    this.#stopListening();
    for (const callback of this.#callbacks) callback();
  }

  stream(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const body = new AbortableBody(failingAsLost(source), () => this.leave());
    onAbort(this.#signal, () => body.fail(this.#signal?.reason));
    return body;
  }
}

async function* failingAsLost(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* source;
  } catch (error) {
    throw lost(error);
  }
}

function lost(error: unknown): TransportError {
  const reason = error instanceof Error ? error.message : String(error);
  return new TransportError("connection-lost", reason, error);
}
