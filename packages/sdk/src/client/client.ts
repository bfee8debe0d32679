/**
 * Client: sends requests to one API server, or to one logical cluster of it, over any transport.
 *
 * It adds to a transport what is common to all requests: the base path, headers, warnings,
 * timeouts, retries after `Retry-After`, and errors as StatusError. It holds no state about
 * objects; caches are informers.
 */
import { type Clock, type Random, sleep, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { type JsonValue, stringifyJson } from "@kcp-ts/machinery/json";
import { Connectivity } from "./connectivity.ts";
import { startDeadline } from "./deadline.ts";
import { metadataTransport } from "./metadata-transport.ts";
import type { KubernetesObject } from "./object.ts";
import type { ObjectName } from "./options.ts";
import { requirePreconditions } from "./required-preconditions.ts";
import type { Resource } from "./resource.ts";
import { ResourceClient } from "./resource-client.ts";
import { responseBody } from "./response-body.ts";
import { responseError, retryAfterSeconds } from "./response-error.ts";
import { parseResponse, type ResponseLimits } from "./response-limits.ts";
import { type ExclusiveLane, HeldBytes } from "./response-memory.ts";
import { SharedDeadlines } from "./shared-deadlines.ts";
import {
  isTransportError,
  type Method,
  type RequestHeaders,
  type ResponseBody,
  type ResponseHeaders,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
  type UpgradeResponse,
} from "./transport.ts";
import { warningsOf } from "./warnings.ts";

export interface ClientOptions {
  readonly transport: Transport;
  /** The prefix of every path, such as `/clusters/root:org`; empty for a plain server. */
  readonly basePath?: string;
  readonly userAgent?: string;
  /** The field manager of writes that do not name one. */
  readonly fieldManager?: string;
  /**
   * The field manager of applies that would have none; servers refuse these. The program's name in
   * `userAgent` if omitted, which servers take for other writes.
   */
  readonly applyManager?: string;
  /** The timeout of a request other than a watch, body included. */
  readonly requestTimeoutMs?: number;
  /** How often a request is retried when the server responds with `Retry-After`. */
  readonly retriesMax?: number;
  /**
   * Rejects, without sending them, writes of existing objects that have no preconditions (uid,
   * resourceVersion).
   */
  readonly requiresPreconditions?: boolean;
  /**
   * `drop`: responses come without `metadata.managedFields` where the server offers it (KEP-5958);
   * other servers send them as ever. An update without them keeps those of the server.
   */
  readonly managedFields?: "keep" | "drop";
  readonly onWarning?: (text: string, request: RequestSummary) => void;
  /** Called after every attempt, for metrics. */
  readonly onResponse?: (request: RequestSummary, response: ResponseSummary) => void;
  /** Called with the server's response to every write through a `ResourceClient`. */
  readonly onWritten?: OnWritten | undefined;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Limits of responses; unlimited if omitted, for trusted servers. */
  readonly responseLimits?: ResponseLimits | undefined;
  /** Shared with the other clients of the connection; its own if omitted. */
  readonly connectivity?: Connectivity | undefined;
}

/** The object as it was written; of a deletion, the last state if the server returns it. */
export type OnWritten = (
  resource: Resource,
  target: ObjectName,
  written: KubernetesObject | undefined,
) => void;

export interface RequestSummary {
  readonly method: Method;
  readonly path: string;
}

export interface ResponseSummary {
  /** 0 when there was no response. */
  readonly status: number;
  /** The time until the response's head arrived. */
  readonly durationMs: number;
  /** 1 for the first attempt of the request. */
  readonly attempt: number;
}

export interface ClientRequest {
  readonly method: Method;
  /** The path below the base path, with query. */
  readonly path: string;
  readonly headers?: RequestHeaders;
  readonly body?: JsonValue | undefined;
  /** Text that is sent as it is, instead of a body: YAML that a person has edited. */
  readonly text?: string | undefined;
  readonly contentType?: string | undefined;
  /**
   * The server may compress the response, where the transport supports it: for lists and documents.
   */
  readonly mayBeLong?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's number of retries: an informer has its own backoff and uses 0. */
  readonly retriesMax?: number | undefined;
}

export interface ReadResponse {
  readonly headers: ResponseHeaders;
  readonly text: string;
}

export interface ReadDocument {
  readonly headers: ResponseHeaders;
  readonly value: JsonValue;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

const userAgentDefault = "kcp-ts-sdk";
/** Servers refuse longer ones. */
const fieldManagerLengthMax = 128;
const acceptJson = "application/json";
const acceptWithoutManagedFields = `${acceptJson};drop=metadata.managedFields,${acceptJson}`;
const requestTimeoutMsDefault = 90_000;
const retriesMaxDefault = 10;
/**
 * A connection that died in the pool is detected by using it; more than a few of them in a row mean
 * that the server is down.
 */
const resendsMax = 3;

export class Client {
  readonly transport: Transport;
  readonly basePath: string;
  readonly fieldManager: string | undefined;
  readonly applyManager: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly responseLimits: ResponseLimits | undefined;
  readonly onWritten: OnWritten | undefined;
  /** Whether the server answers, as all clients that are made from this one see it. */
  readonly connectivity: Connectivity;
  readonly #options: ClientOptions;
  readonly #headers: RequestHeaders;
  readonly #requestTimeoutMs: number;
  readonly #deadlines: SharedDeadlines;

  constructor(options: ClientOptions) {
    this.transport = options.transport;
    this.basePath = (options.basePath ?? "").replace(/\/+$/, "");
    const userAgent = options.userAgent ?? userAgentDefault;
    this.fieldManager = options.fieldManager;
    const applyManager = options.applyManager ?? userAgent.split("/", 1)[0];
    this.applyManager = applyManager?.slice(0, fieldManagerLengthMax) || userAgentDefault;
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? systemRandom;
    this.responseLimits = options.responseLimits;
    this.onWritten = options.onWritten;
    this.connectivity = options.connectivity ?? new Connectivity(this.clock);
    this.#options = { ...options, connectivity: this.connectivity };
    this.#requestTimeoutMs = options.requestTimeoutMs ?? requestTimeoutMsDefault;
    this.#deadlines = new SharedDeadlines(this.clock, this.#requestTimeoutMs);
    const accept = options.managedFields === "drop" ? acceptWithoutManagedFields : acceptJson;
    this.#headers = { accept, "user-agent": userAgent };
  }

  resource<Object extends KubernetesObject>(resource: Resource<Object>): ResourceClient<Object> {
    return new ResourceClient(this, resource);
  }

  /**
   * The same server, another logical cluster: a name, a path such as `root:org:team`, or `*` for
   * all of them. A `/clusters/…` at the end of the base path is replaced, anything in front of it
   * stays.
   */
  inCluster(path: string): Client {
    const prefix = this.basePath.replace(/\/clusters\/[^/]+$/, "");
    return this.withBasePath(`${prefix}/clusters/${path}`);
  }

  /** The same server below another base path, for virtual workspaces. */
  withBasePath(basePath: string): Client {
    return new Client({ ...this.#options, basePath });
  }

  /**
   * The same server; `onWritten` is told about every write, and applies that would have no field
   * manager have this name.
   */
  forController(applyManager: string, onWritten: OnWritten): Client {
    return new Client({ ...this.#options, applyManager, onWritten });
  }

  /** The same server: lists and watches return metadata only, of any type. */
  withMetadataOnly(): Client {
    return new Client({ ...this.#options, transport: metadataTransport(this.transport) });
  }

  /** The same server: responses come without managed fields where the server offers it. */
  withoutManagedFields(): Client {
    return new Client({ ...this.#options, managedFields: "drop" });
  }

  /**
   * The same server, for controllers that work in all clusters: writes without preconditions are
   * refused, see `ObservedObject`.
   */
  withRequiredPreconditions(): Client {
    return new Client({ ...this.#options, requiresPreconditions: true });
  }

  /** Sends a request and parses the response. Integers beyond 2^53 are bigints. */
  async json(request: ClientRequest): Promise<JsonValue> {
    return (await this.document(request)).value;
  }

  /** The same, with the headers of the response. */
  async document(request: ClientRequest): Promise<ReadDocument> {
    // The text takes memory until it is parsed.
    const held = new HeldBytes(this.responseLimits?.memory?.buffers);
    try {
      const { headers, text } = await this.#read(request, held);
      return { headers, value: await this.parse(text) };
    } finally {
      held.release();
    }
  }

  /** Parses a response that was read in full, within the limits of the server. */
  parse(text: string): JsonValue | Promise<JsonValue> {
    return parseResponse(this.responseLimits?.response, text);
  }

  /** Sends a request and reads the full response, within the request timeout. */
  async read(request: ClientRequest): Promise<ReadResponse> {
    const held = new HeldBytes(this.responseLimits?.memory?.buffers);
    try {
      return await this.#read(request, held);
    } finally {
      held.release();
    }
  }

  async #read(request: ClientRequest, held?: HeldBytes): Promise<ReadResponse> {
    const deadline = this.#deadlines.start(request.signal);
    try {
      const response = await this.#send(request, deadline.signal);
      return { headers: response.headers, text: await this.#text(response.body, held) };
    } catch (error) {
      const isOurs = error === deadline.signal.reason && request.signal?.aborted !== true;
      if (!isOurs) throw error;
      const what = `${request.method} ${request.path}`;
      throw new TransportError("timeout", `${what} took longer than ${this.#requestTimeoutMs} ms`);
    } finally {
      deadline.cancel();
    }
  }

  #text(body: ResponseBody, held: HeldBytes | undefined): Promise<string> {
    const limits = this.responseLimits;
    if (limits?.memory === undefined) return body.text(limits?.response.bytesMax);
    const { longDocuments } = limits.memory;
    return responseBody(counted(body, held, longDocuments)).text(limits.response.bytesMax);
  }

  /** Sends a request and streams the response, within the request timeout. */
  async *chunks(request: ClientRequest): AsyncGenerator<Uint8Array> {
    const { signal, method, path } = request;
    const what = `${method} ${path}`;
    const timeoutMs = this.#requestTimeoutMs;
    const deadline = startDeadline({ clock: this.clock, timeoutMs, signal, what });
    try {
      yield* (await this.#send(request, deadline.signal)).body;
    } finally {
      deadline.cancel();
    }
  }

  /**
   * Sends a request and resolves with the head of a successful response; the caller reads the body,
   * and limits its time.
   */
  send(request: ClientRequest): Promise<TransportResponse> {
    return this.#send(request, request.signal);
  }

  /**
   * Requests an upgrade of the connection. Sent once: only the caller knows whether a lost upgrade
   * can be repeated. An error status is a response here, not an error.
   */
  upgrade(request: ClientRequest): Promise<UpgradeResponse> {
    // What comes through the connection is no object: kubelets answer 406 to a client of JSON.
    const headers = { accept: "*/*", ...request.headers };
    const wire = this.#wire({ ...request, headers }, request.signal);
    if (this.transport.upgrade !== undefined) return this.transport.upgrade(wire);
    const why = "this transport has no connections that could be handed over";
    return Promise.reject(new TransportError("refused", why));
  }

  async #send(request: ClientRequest, signal: AbortSignal | undefined): Promise<TransportResponse> {
    if (this.#options.requiresPreconditions === true) requirePreconditions(request);
    const wire = this.#wire(request, signal);
    const retriesMax = request.retriesMax ?? this.#options.retriesMax ?? retriesMaxDefault;
    let resends = 0;
    for (let retries = 0; ; ) {
      const attempt = 1 + retries + resends;
      const { onResponse } = this.#options;
      const startedAtMs = onResponse === undefined ? 0 : this.clock.monotonic();
      let response: TransportResponse;
      try {
        response = await this.transport.send(wire);
        this.connectivity.answered();
      } catch (error) {
        if (isTransportError(error)) this.connectivity.failed();
        if (onResponse !== undefined && !signal?.aborted) {
          const durationMs = this.clock.monotonic() - startedAtMs;
          onResponse(wire, { status: 0, durationMs, attempt });
        }
        if (!isRetriable(error, wire.method) || ++resends > resendsMax) throw error;
        continue;
      }
      if (onResponse !== undefined) {
        const durationMs = this.clock.monotonic() - startedAtMs;
        onResponse(wire, { status: response.status, durationMs, attempt });
      }
      this.#warn(wire, response);
      if (response.status < 400) return response;
      const error = await responseError(response);
      const waitSeconds =
        response.status === 429 || response.status >= 500 ? retryAfterSeconds(response) : undefined;
      if (waitSeconds === undefined || retries++ >= retriesMax) throw error;
      await sleep(this.clock, waitSeconds * 1000, signal);
    }
  }

  #wire(request: ClientRequest, signal: AbortSignal | undefined): TransportRequest {
    const { method, body, text } = request;
    let headers = this.#headers;
    if (request.headers !== undefined) headers = { ...headers, ...request.headers };
    if (body !== undefined || text !== undefined) {
      headers = { ...headers, "content-type": request.contentType ?? "application/json" };
    }
    return {
      method,
      path: this.basePath + request.path,
      headers,
      body: body === undefined ? text : stringifyJson(body),
      mayBeLong: request.mayBeLong,
      signal,
    };
  }

  #warn(request: TransportRequest, response: TransportResponse): void {
    const { onWarning } = this.#options;
    if (onWarning === undefined || response.headers["warning"] === undefined) return;
    for (const text of warningsOf(response.headers)) onWarning(text, request);
  }
}

function isRetriable(error: unknown, method: Method): boolean {
  return (
    isTransportError(error, "refused") ||
    (method === "GET" && isTransportError(error, "connection-lost"))
  );
}

async function* counted(
  body: AsyncIterable<Uint8Array>,
  held: HeldBytes | undefined,
  longDocuments: ExclusiveLane | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    held?.add(chunk.length);
    await held?.waitIfLong(longDocuments);
    yield chunk;
  }
}
