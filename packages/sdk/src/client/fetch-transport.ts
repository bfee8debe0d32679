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
  readonly fetch?: typeof fetch;
}

export class FetchTransport implements Transport {
  readonly #origin: string;
  readonly #fetch: typeof fetch;

  constructor(options: FetchTransportOptions = {}) {
    this.#origin = options.origin ?? "";
    this.#fetch = options.fetch ?? fetch.bind(globalThis);
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) {
      for (const line of typeof value === "string" ? [value] : value) headers.append(name, line);
    }
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
      body: responseBody(
        response.body === null ? "" : (response.body as unknown as AsyncIterable<Uint8Array>),
      ),
    };
  }

  /** Ends nothing: `fetch` manages its connections itself. */
  async close(): Promise<void> {}
}
