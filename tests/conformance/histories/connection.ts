/**
 * Requests to the servers of a stage as they are: nothing is repeated, and what is not known is
 * said to be so.
 */
import { systemClock } from "@kcp-ts/machinery/base";
import { isTransportError, type Method, NodeTransport, type TransportResponse } from "@kcp-ts/sdk";
import type { ServerProcess } from "./server-process.ts";

export type RecordedResponse =
  | { readonly kind: "answer"; readonly status: number; readonly body: unknown }
  /** It may have happened. */
  | { readonly kind: "open"; readonly reason: string }
  /** It did not happen: nobody was there, or had time. */
  | { readonly kind: "none" };

export interface RecordedRequest {
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

/** Longer than a fault, shorter than patience. */
const requestTimeoutMs = 2500;

export class Connection {
  readonly #server: ServerProcess;
  readonly #transport: NodeTransport;

  constructor(server: ServerProcess, protocol: "negotiate" | "http1") {
    this.#server = server;
    this.#transport = new NodeTransport({
      url: new URL(`https://127.0.0.1:${server.proxy.port}`),
      tls: () => ({ ca: server.caPem }),
      protocol,
      connectTimeoutMs: 1000,
      pingIntervalMs: 400,
      pingTimeoutMs: 800,
    });
  }

  async sendRecorded(sent: RecordedRequest): Promise<RecordedResponse> {
    const timeout = new AbortController();
    const timer = systemClock.schedule(requestTimeoutMs, () => timeout.abort(new Error("timeout")));
    try {
      const response = await this.send(sent, timeout.signal);
      const text = await response.body.text();
      const { status } = response;
      // A token of the server before this one, or no room: it was not looked at.
      if (status === 401 || status === 429) return { kind: "none" };
      if (status >= 500) return { kind: "open", reason: `${status} ${text.slice(0, 200)}` };
      return { kind: "answer", status, body: JSON.parse(text) };
    } catch (error) {
      if (isTransportError(error, "connect") || isTransportError(error, "refused")) {
        return { kind: "none" };
      }
      return { kind: "open", reason: (error as Error).message };
    } finally {
      timer.cancel();
    }
  }

  send(sent: RecordedRequest, signal: AbortSignal): Promise<TransportResponse> {
    const { method, path, body, contentType = "application/json" } = sent;
    return this.#transport.send({
      method,
      path,
      headers: {
        authorization: `Bearer ${this.#server.token}`,
        ...(body === undefined ? {} : { "content-type": contentType }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}
