/**
 * Simulated faults between a cluster and its clients. The cluster itself stays healthy: its
 * controllers continue.
 *
 * - `cut`: no request succeeds, and open connections are closed; over a socket, connections are
 *   refused.
 * - `frozen`: requests arrive and get no response, open watches send no events; after it thaws, all
 *   continue.
 * - `slow`: every response takes that much longer.
 * - `unauthorized`: credentials are rejected with 401.
 */
import type { ApiRequest, ApiResponse } from "@kcp-ts/apiserver";
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { AbortableBody } from "@kcp-ts/sdk/client";

export type Handle = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;

export class ConnectionCut extends Error {
  override readonly name = "ConnectionCut";
}

export class ClusterFaults {
  readonly #clock: Clock;
  readonly #streams = new Set<AbortableBody>();
  readonly #onCut: (isCut: boolean) => Promise<void>;
  #isCut = false;
  #isUnauthorized = false;
  #latencyMs = 0;
  #thaw: { readonly done: Promise<void>; readonly release: () => void } | undefined;

  /** `onCut` closes and opens the port, where there is one. */
  constructor(clock: Clock, onCut: (isCut: boolean) => Promise<void>) {
    this.#clock = clock;
    this.#onCut = onCut;
  }

  async cut(): Promise<void> {
    this.#isCut = true;
    for (const stream of this.#streams) stream.fail(new ConnectionCut("the connection was cut"));
    await this.#onCut(true);
  }

  freeze(): void {
    if (this.#thaw !== undefined) return;
    let release = () => {};
    const done = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#thaw = { done, release };
  }

  slow(latencyMs: number): void {
    this.#latencyMs = latencyMs;
  }

  unauthorize(): void {
    this.#isUnauthorized = true;
  }

  /** Ends all faults. */
  async heal(): Promise<void> {
    this.#latencyMs = 0;
    this.#isUnauthorized = false;
    this.#thaw?.release();
    this.#thaw = undefined;
    if (!this.#isCut) return;
    this.#isCut = false;
    await this.#onCut(false);
  }

  /** Wraps the handler of the server. */
  around(next: Handle): Handle {
    return (request) => {
      const isWell = !this.#isCut && !this.#isUnauthorized && this.#latencyMs === 0;
      if (isWell && this.#thaw === undefined) return this.#watched(next(request));
      return this.#applyFaults(request, next);
    };
  }

  async #applyFaults(request: ApiRequest, next: Handle): Promise<ApiResponse> {
    if (this.#isCut) throw new ConnectionCut("connection refused");
    if (this.#latencyMs > 0) await sleep(this.#clock, this.#latencyMs);
    await this.#thaw?.done;
    if (this.#isCut) throw new ConnectionCut("the connection was cut");
    if (this.#isUnauthorized) return unauthorized();
    return this.#watched(next(request));
  }

  async #watched(response: ReturnType<Handle>): Promise<ApiResponse> {
    return this.#track(await response);
  }

  #track(response: ApiResponse): ApiResponse {
    const { body } = response;
    if (body === undefined || body instanceof Uint8Array) return response;
    const stream: AbortableBody = new AbortableBody(this.#held(body), () =>
      this.#streams.delete(stream),
    );
    this.#streams.add(stream);
    return { ...response, body: stream };
  }

  async *#held(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      await this.#thaw?.done;
      yield chunk;
    }
  }
}

function unauthorized(): ApiResponse {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "Unauthorized",
    reason: "Unauthorized",
    code: 401,
  };
  return {
    status: 401,
    headers: { "content-type": "application/json" },
    body: new TextEncoder().encode(JSON.stringify(status)),
  };
}
