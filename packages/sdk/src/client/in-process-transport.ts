/** Requests to a server in the same process: no socket, no header block, no copy of the body. */
import { type BodySource, responseBody } from "./response-body.ts";
import {
  type ResponseHeaders,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";

export interface InProcessResponse {
  readonly status: number;
  readonly headers?: ResponseHeaders;
  readonly body?: BodySource;
}

export type InProcessHandler = (
  request: TransportRequest,
) => InProcessResponse | Promise<InProcessResponse>;

export class InProcessTransport implements Transport {
  readonly #handle: InProcessHandler;
  #closed = false;

  constructor(handle: InProcessHandler) {
    this.#handle = handle;
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    if (this.#closed) throw new TransportError("closed", "the transport is closed");
    request.signal?.throwIfAborted();
    const { status, headers = {}, body = "" } = await this.#handle(request);
    return { status, headers, body: responseBody(body) };
  }

  async close(): Promise<void> {
    this.#closed = true;
  }
}
