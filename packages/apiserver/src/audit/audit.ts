/**
 * Audit records requests as events of audit.k8s.io/v1: the user, the action, the time and the
 * result.
 *
 * Requests never wait for a full buffer: backends accept as many events as fit, and count the
 * events that they drop.
 */
import { type Clock, type Resumable, runSync } from "@kcp-ts/machinery/base";
import { type JsonObject, stringifyResumable } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { type ApiRequest, type ApiResponse, header } from "../request/api-request.ts";
import { type PathScope, type RequestScope, unresolvedCluster } from "../request/request-scope.ts";
import { anonymousUser, wellKnownUser } from "../request/user.ts";
import {
  type AuditContext,
  AuditRecord,
  auditObjectBytesMax,
  type Decode,
} from "./audit-record.ts";
import type { AuditTail } from "./audit-tail.ts";
import { EventSampler, rejectedPerSecond, unauthenticatedPerSecond } from "./event-sampler.ts";
import { LargeEventQueue, largeBodiesBytesMax, smallBodiesBytesMax } from "./large-event-queue.ts";
import { type AuditPolicy, type AuditStage, ruleFor } from "./policy.ts";

export interface AuditBackend {
  readonly name: string;
  /**
   * Accepts an event, or drops and counts it. The response waits for a returned promise, which
   * resolves when the event is written, or cannot be, and never rejects. A long event comes with
   * its JSON, which takes long to encode.
   */
  write(event: JsonObject, encoded?: string): Promise<void> | void;
  /** Flushes the buffered events. */
  close(): Promise<void>;
}

export interface AuditOptions {
  readonly policy: AuditPolicy;
  readonly backends: readonly AuditBackend[];
  /** One of the backends, for clients that read events as they happen. */
  readonly tail?: AuditTail;
  readonly clock: Clock;
  readonly onEvent?: (level: string) => void;
  /** Called for each unauthenticated request that is not recorded because of the limit. */
  readonly onOmitted?: () => void;
  /** Called for an event that could not be built. */
  readonly onError?: (error: unknown) => void;
  readonly largeBodiesBytesMax?: number;
}

export class Audit {
  readonly #options: AuditOptions;
  readonly #rejectedSampler = new EventSampler(rejectedPerSecond);
  readonly #unauthenticatedSampler = new EventSampler(unauthenticatedPerSecond);

  readonly #largeEvents: LargeEventQueue;

  constructor(options: AuditOptions) {
    this.#options = options;
    const bytesMax = options.largeBodiesBytesMax ?? largeBodiesBytesMax;
    this.#largeEvents = new LargeEventQueue(bytesMax, (error) => options.onError?.(error));
  }

  /** Undefined when the policy does not record the request. */
  begin(context: AuditContext): AuditRecord | undefined {
    const { scope, user } = context;
    if (scope === undefined) return undefined;
    const rule = ruleFor(this.#options.policy, user, scope);
    if (rule === undefined) return undefined;
    const record = new AuditRecord(context, rule);
    if (user.username === wellKnownUser.anonymous) this.#admit(record, context);
    if (!record.isRateLimited) void this.#write(record, "RequestReceived", undefined, undefined);
    return record;
  }

  /**
   * Records the response. The end of a stream is recorded when it ends; the level decides how much
   * of the stream is kept.
   */
  async responded(
    record: AuditRecord,
    response: ApiResponse,
    decode: Decode,
  ): Promise<ApiResponse> {
    if (record.isRateLimited && !record.isSuccessfulResourceResponse(response)) {
      this.#omit(this.#unauthenticatedSampler);
      return response;
    }
    const { body } = response;
    if (record.isPanic) void this.#write(record, "Panic", response, decode);
    else if (body === undefined || body instanceof Uint8Array) {
      record.responseBody = body;
      await this.#write(record, "ResponseComplete", response, decode);
    } else {
      if (response.isWatch === true) void this.#write(record, "ResponseStarted", response, decode);
      const keeps = response.isWatch !== true && record.rule.level === "RequestResponse";
      const end = () => this.#write(record, "ResponseComplete", response, decode);
      return { ...response, body: observed(body, keeps ? record : undefined, end) };
    }
    return response;
  }

  /**
   * Records a request that failed authentication: it has no user to match rules with, and is
   * recorded as anonymous.
   */
  unauthenticated(context: AuditContext, response: ApiResponse): void {
    const { scope } = context;
    if (scope !== undefined)
      this.#writeRejected(context, scope, response, this.#unauthenticatedSampler);
  }

  /**
   * Records a request that was rejected before authentication; if its target could not be parsed,
   * it is matched as a path that no rule names.
   */
  rejected(context: AuditContext, response: ApiResponse): void {
    const verb = context.request.method.toLowerCase();
    const scope = context.scope ?? { ...unread, verb };
    this.#writeRejected(context, scope, response, this.#rejectedSampler);
  }

  #writeRejected(
    context: AuditContext,
    scope: RequestScope,
    response: ApiResponse,
    refusals: EventSampler,
  ): void {
    const rule = ruleFor(this.#options.policy, anonymousUser, scope);
    if (rule === undefined) return;
    if (!refusals.trySample(this.#options.clock.monotonic(), lengthOf(context))) {
      this.#omit(refusals);
      return;
    }
    const record = new AuditRecord(context, { ...rule, level: "Metadata" });
    annotateOmitted(record, refusals);
    void this.#write(record, "ResponseStarted", response, undefined);
  }

  /** Unauthenticated requests beyond the limit are only recorded if they receive an object. */
  #admit(record: AuditRecord, context: AuditContext): void {
    const hasRoom = this.#unauthenticatedSampler.trySample(
      this.#options.clock.monotonic(),
      lengthOf(context),
    );
    if (hasRoom) annotateOmitted(record, this.#unauthenticatedSampler);
    else record.isRateLimited = true;
  }

  #omit(refusals: EventSampler): void {
    refusals.countOmitted();
    this.#options.onOmitted?.();
  }

  /** The events as they happen, for a client that may read those of all tenants. */
  serveTail(request: ApiRequest, query: URLSearchParams): ApiResponse {
    if (this.#options.tail === undefined) throw statusError.pathNotFound();
    return this.#options.tail.serve(request, query);
  }

  async close(): Promise<void> {
    await this.#largeEvents.done();
    await Promise.all(this.#options.backends.map((backend) => backend.close()));
  }

  /**
   * The response that the event completes waits for it. Other stages ignore the promise: backends
   * report lost events.
   */
  #write(
    record: AuditRecord,
    stage: AuditStage,
    response: ApiResponse | undefined,
    decode: Decode | undefined,
  ): Promise<void> | undefined {
    if (record.rule.omitStages.has(stage)) return undefined;
    const { clock, onEvent } = this.#options;
    const nowMs = clock.now();
    onEvent?.(record.rule.level);
    const bytes = stage === "RequestReceived" ? 0 : record.bodyBytes(response);
    const event = () => record.event(stage, nowMs, response, decode);
    if (bytes <= smallBodiesBytesMax) return this.#writeToBackends(runSync(event()));
    // Long events are built one after the other for all requests: no response waits for the event
    // of another.
    if (!this.#largeEvents.add(bytes, () => this.#queueLarge(event()))) {
      record.omitBodies("too many long ones wait to be written down");
      const short = response === undefined ? undefined : { ...response, body: undefined };
      return this.#writeToBackends(runSync(record.event(stage, nowMs, short, undefined)));
    }
    return undefined;
  }

  *#queueLarge(made: Resumable<JsonObject>): Resumable<void> {
    const event = yield* made;
    void this.#writeToBackends(event, yield* stringifyResumable(event));
  }

  async #writeToBackends(event: JsonObject, encoded?: string): Promise<void> {
    await Promise.all(this.#options.backends.map((backend) => backend.write(event, encoded)));
  }
}

const unread: PathScope = {
  kind: "path",
  cluster: unresolvedCluster,
  path: "",
  query: new URLSearchParams(),
  verb: "",
};

/** The length of the client's input that an event repeats, once or a few times. */
function lengthOf({ request: { target, headers } }: AuditContext): number {
  return target.length + (header(headers, "user-agent")?.length ?? 0);
}

function annotateOmitted(record: AuditRecord, refusals: EventSampler): void {
  const leftOut = refusals.takeOmitted();
  if (leftOut > 0) record.annotate("audit.kcp.io/requests-left-out", String(leftOut));
}

/** The same stream; keeps the part that the event includes, up to the limit. */
async function* observed(
  body: AsyncIterable<Uint8Array>,
  keeper: AuditRecord | undefined,
  end: () => Promise<void> | undefined,
): AsyncGenerator<Uint8Array> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (keeper !== undefined && bytes <= auditObjectBytesMax) kept.push(chunk);
      yield chunk;
    }
  } finally {
    if (keeper !== undefined && bytes <= auditObjectBytesMax)
      keeper.responseBody = Buffer.concat(kept);
    else if (keeper !== undefined) keeper.annotate("audit.k8s.io/truncated", "true");
    await end();
  }
}
