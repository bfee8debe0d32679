/**
 * Injected faults between a client and a server.
 *
 * They are in front of the server, so in-process clients and clients over sockets see the same
 * faults. The server itself and its controllers stay healthy: a test can check the actual state by
 * removing the fault, or with a fault that its own client does not match.
 */
import type { ApiRequest, ApiResponse } from "@kcp-ts/apiserver";
import type { Handle, Middleware } from "@kcp-ts/controlplane";
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { AbortableBody } from "@kcp-ts/sdk/client";
import type { WriteCounter } from "./eventually-stable.ts";
import { matchesRequest, type RequestMatch, requestedObjectOf } from "./request-match.ts";

export interface Fault {
  /** All requests if omitted. */
  readonly match?: RequestMatch;
  /** How many requests the fault affects; all of them if omitted. */
  readonly times?: number;
  /** The delay before anything else, on the control plane's clock. */
  readonly latencyMs?: number;
  /** The response instead of the server's. */
  readonly error?: FaultStatus;
  /**
   * Breaks the connection: `before` the server gets the request, or `after` it has processed it,
   * when the client cannot know whether it did.
   */
  readonly drop?: "before" | "after";
}

export interface FaultStatus {
  readonly code: number;
  readonly reason?: string;
  readonly message?: string;
  readonly retryAfterSeconds?: number;
}

export interface ActiveFault {
  /** The number of requests it has affected. */
  readonly hits: number;
  remove(): void;
}

/** The cause of the client's error for a request whose connection was broken by a fault. */
export class InjectedFault extends Error {
  override readonly name = "InjectedFault";
}

/** Of the writes that are kept for messages. */
const lastWritesMax = 5;

interface Entry {
  readonly fault: Fault;
  hits: number;
}

interface OpenWatch {
  readonly request: ApiRequest;
  readonly body: AbortableBody;
}

export class Faults {
  readonly #clock: Clock;
  readonly #entries = new Set<Entry>();
  readonly #watches = new Set<OpenWatch>();

  readonly #writes = new Map<string, { count: number; last: string[] }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The writes of clients in one logical cluster so far, those of the server itself excluded. */
  writesIn(cluster: string): WriteCounter {
    const all = this.#writes;
    return {
      get writes() {
        return all.get(cluster)?.count ?? 0;
      },
      get lastWrites() {
        return all.get(cluster)?.last ?? [];
      },
    };
  }

  #count({ method, target }: ApiRequest): void {
    if (method === "GET") return;
    const { cluster } = requestedObjectOf(target);
    const known = this.#writes.get(cluster) ?? { count: 0, last: [] };
    this.#writes.set(cluster, known);
    known.count++;
    known.last.push(`${method} ${target.split("?")[0]}`);
    if (known.last.length > lastWritesMax) known.last.shift();
  }

  /** Injects a fault from now on. Of several faults that match, the oldest applies. */
  add(fault: Fault): ActiveFault {
    const entry: Entry = { fault, hits: 0 };
    this.#entries.add(entry);
    return {
      get hits() {
        return entry.hits;
      },
      remove: () => void this.#entries.delete(entry),
    };
  }

  clear(): void {
    this.#entries.clear();
  }

  /**
   * Breaks the connections of open watches; their clients may reconnect. Returns how many there
   * were.
   */
  dropWatches(match: RequestMatch = {}): number {
    const chosen = [...this.#watches].filter(({ request }) => matchesRequest(match, request));
    for (const { body } of chosen) body.fail(new InjectedFault("the watch was dropped on purpose"));
    return chosen.length;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  readonly middleware: Middleware = (request, next) => {
    this.#count(request);
    const entry = this.#strike(request);
    if (entry === undefined) return this.#tracked(request, next);
    return this.#inflict(entry.fault, request, next);
  };

  #strike(request: ApiRequest): Entry | undefined {
    for (const entry of this.#entries) {
      const { match = {}, times = Number.POSITIVE_INFINITY } = entry.fault;
      if (entry.hits >= times || !matchesRequest(match, request)) continue;
      entry.hits++;
      return entry;
    }
    return undefined;
  }

  async #inflict(fault: Fault, request: ApiRequest, next: Handle): Promise<ApiResponse> {
    if (fault.latencyMs !== undefined) await sleep(this.#clock, fault.latencyMs);
    if (fault.drop === "before") throw new InjectedFault("the connection broke on purpose");
    if (fault.error !== undefined) return statusResponse(fault.error);
    const response = await this.#tracked(request, next);
    if (fault.drop === "after") throw new InjectedFault("the answer was lost on purpose");
    return response;
  }

  async #tracked(request: ApiRequest, next: Handle): Promise<ApiResponse> {
    const closers: (() => void)[] = [];
    const response = await next({
      method: request.method,
      target: request.target,
      headers: request.headers,
      remoteAddress: request.remoteAddress,
      clientCertificate: request.clientCertificate,
      onClose: (callback) => {
        closers.push(callback);
        request.onClose(callback);
      },
      readBody: (bytesMax) => request.readBody(bytesMax),
    });
    return this.#track(request, response, closers);
  }

  #track(request: ApiRequest, response: ApiResponse, closers: (() => void)[]): ApiResponse {
    const { body } = response;
    if (response.isWatch !== true || body === undefined || body instanceof Uint8Array) {
      return response;
    }
    const watch: OpenWatch = {
      request,
      body: new AbortableBody(body, () => {
        this.#watches.delete(watch);
        for (const close of closers) close();
      }),
    };
    this.#watches.add(watch);
    request.onClose(() => this.#watches.delete(watch));
    return { ...response, body: watch.body };
  }
}

function statusResponse({ code, reason, message, retryAfterSeconds }: FaultStatus): ApiResponse {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: message ?? "failed on purpose",
    reason: reason ?? (code === 429 ? "TooManyRequests" : "InternalError"),
    code,
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
  };
  return {
    status: code,
    headers: {
      "content-type": "application/json",
      ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
    },
    body: new TextEncoder().encode(JSON.stringify(status)),
  };
}
