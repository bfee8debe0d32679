/**
 * A transport of a page whose user may have to log in again: requests wait for that, and what was
 * refused meanwhile is sent once more. A page keeps what a person was typing.
 */
import { bounds } from "@kcp-ts/machinery/bounds";
import { StatusError } from "@kcp-ts/machinery/status";
import type { Transport, TransportRequest, TransportResponse } from "@kcp-ts/sdk/client";

export interface Login {
  /** The server no longer accepts the credentials. */
  expired(): void;
  /**
   * Waits while a login is asked for. False when another user has logged in since, or nobody is to:
   * what one user began is not done in the name of another.
   */
  renewed(signal: AbortSignal | undefined): Promise<boolean>;
}

export class SessionTransport implements Transport {
  readonly #inner: Transport;
  readonly #login: Login;

  constructor(inner: Transport, login: Login) {
    this.#inner = inner;
    this.#login = login;
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    if (await this.#login.renewed(request.signal)) {
      const response = await this.#inner.send(request);
      if (response.status !== 401) return response;
      await response.body.text(bounds.refusal.bytesMax);
      this.#login.expired();
      if (await this.#login.renewed(request.signal)) return this.#inner.send(request);
    }
    throw new StatusError({ code: 401, reason: "Unauthorized", message: "you are logged out" });
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
