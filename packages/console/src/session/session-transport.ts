/** A transport that notices when the server no longer accepts the user's credentials. */
import type { Transport, TransportRequest, TransportResponse } from "@kcp-ts/sdk/client";

export class SessionTransport implements Transport {
  readonly #inner: Transport;
  readonly #onUnauthorized: () => void;

  constructor(inner: Transport, onUnauthorized: () => void) {
    this.#inner = inner;
    this.#onUnauthorized = onUnauthorized;
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const response = await this.#inner.send(request);
    if (response.status === 401) this.#onUnauthorized();
    return response;
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
