/**
 * The transport of browsers, and of any runtime with `fetch`: for pages that the server's own
 * origin serves.
 */
import { responseBody } from "./response-body.ts";
import {
  type ResponseHeaders,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";

export interface FetchTransportOptions {
  /** The origin of every path; empty for the page's own origin. */
  readonly origin?: string;
  /** Headers of every request, such as a token: asked for each one, since tokens are renewed. */
  readonly headers?: () => Readonly<Record<string, string>>;
  readonly fetch?: typeof fetch;
}

export class FetchTransport implements Transport {
  readonly #origin: string;
  readonly #headers: () => Readonly<Record<string, string>>;
  readonly #fetch: typeof fetch;

  constructor(options: FetchTransportOptions = {}) {
    this.#origin = options.origin ?? "";
    this.#headers = options.headers ?? (() => ({}));
    this.#fetch = options.fetch ?? fetch.bind(globalThis);
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) {
      for (const line of typeof value === "string" ? [value] : value) headers.append(name, line);
    }
    for (const [name, value] of Object.entries(this.#headers())) headers.set(name, value);
    const init: RequestInit = { method: request.method, headers };
    if (request.body !== undefined) init.body = request.body as NonNullable<RequestInit["body"]>;
    if (request.signal !== undefined) init.signal = request.signal;
    let response: Response;
    try {
      response = await this.#fetch(this.#origin + request.path, init);
    } catch (error) {
      request.signal?.throwIfAborted();
      throw new TransportError("connection-lost", `fetch ${request.path} failed`, error);
    }
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers) as ResponseHeaders,
      body: responseBody(response.body === null ? "" : chunksOf(response.body, request)),
    };
  }

  /** Ends nothing: `fetch` manages its connections itself. */
  async close(): Promise<void> {}
}

/**
 * Reads through a reader: not every browser iterates over streams. A stream that breaks is a
 * connection that broke, whatever the browser calls it.
 */
async function* chunksOf(
  stream: ReadableStream<Uint8Array>,
  { path, signal }: TransportRequest,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let isRead = false;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        isRead = true;
        signal?.throwIfAborted();
        throw new TransportError("connection-lost", `the response to ${path} broke off`, error);
      });
      if (done) {
        isRead = true;
        return;
      }
      yield value;
    }
  } finally {
    if (!isRead) await reader.cancel();
  }
}
