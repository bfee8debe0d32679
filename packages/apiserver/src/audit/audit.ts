/**
 * Audit: who did what, when, and what came of it, written down as events of audit.k8s.io/v1.
 *
 * Requests never wait for it: backends take what they have room for and count what they had not.
 */
import { type Clock, type Resumable, runSync } from "@kcp-ts/machinery/base";
import { type JsonObject, stringifyResumable } from "@kcp-ts/machinery/json";
import { type ApiResponse, header, type MaybePromise } from "../request/api-request.ts";
import { type PathScope, type RequestScope, unresolvedCluster } from "../request/request-scope.ts";
import { anonymousUser, wellKnownUser } from "../request/user.ts";
import {
  type AuditContext,
  AuditRecord,
  auditObjectBytesMax,
  type Decode,
} from "./audit-record.ts";
import { LargeEventQueue, largeBodiesBytesMax, smallBodiesBytesMax } from "./long-events.ts";
import { type AuditPolicy, type AuditStage, ruleFor } from "./policy.ts";
import { EventSampler, rejectedPerSecond, unauthenticatedPerSecond } from "./refusals.ts";

export interface AuditBackend {
  readonly name: string;
  /**
   * Takes an event, or drops and counts it. A promise is one that the answer waits for: it resolves when the event is written, or cannot be, and never
   * rejects. A long one comes with its text, which takes long to make.
   */
  write(event: JsonObject, encoded?: string): MaybePromise<void>;
  /** Hands on what it has. */
  close(): Promise<void>;
}

export interface AuditOptions {
  readonly policy: AuditPolicy;
  readonly backends: readonly AuditBackend[];
  readonly clock: Clock;
  readonly onEvent?: (level: string) => void;
  /** Told of each request of nobody in particular that is not written down because there are too many. */
  readonly onLeftOut?: () => void;
  /** Told of an event that could not be made. */
  readonly onError?: (error: unknown) => void;
  readonly longBodiesBytesMax?: number;
}

export class Audit {
  readonly #options: AuditOptions;
  readonly #refusals = new EventSampler(rejectedPerSecond);
  readonly #strangers = new EventSampler(unauthenticatedPerSecond);

  readonly #long: LargeEventQueue;

  constructor(options: AuditOptions) {
    this.#options = options;
    const bytesMax = options.longBodiesBytesMax ?? largeBodiesBytesMax;
    this.#long = new LargeEventQueue(bytesMax, (error) => options.onError?.(error));
  }

  /** Undefined when the policy has nothing to say about the request. */
  begin(exchange: AuditContext): AuditRecord | undefined {
    const { scope, user } = exchange;
    if (scope === undefined) return undefined;
    const rule = ruleFor(this.#options.policy, user, scope);
    if (rule === undefined) return undefined;
    const record = new AuditRecord(exchange, rule);
    if (user.username === wellKnownUser.anonymous) this.#admit(record, exchange);
    if (!record.isCrowdedOut) void this.#write(record, "RequestReceived", undefined, undefined);
    return record;
  }

  /** The answer is ready. A stream's end is told when it comes; what is kept of it depends on the level. */
  answered(record: AuditRecord, response: ApiResponse, decode: Decode): MaybePromise<ApiResponse> {
    if (record.isCrowdedOut && !record.gives(response)) {
      this.#leaveOut(this.#strangers);
      return response;
    }
    const { body } = response;
    if (record.isPanic) void this.#write(record, "Panic", response, decode);
    else if (body === undefined || body instanceof Uint8Array) {
      record.responseBody = body;
      const written = this.#write(record, "ResponseComplete", response, decode);
      if (written instanceof Promise) return written.then(() => response);
    } else {
      if (response.isWatch === true) void this.#write(record, "ResponseStarted", response, decode);
      const keeps = response.isWatch !== true && record.rule.level === "RequestResponse";
      const end = () => this.#write(record, "ResponseComplete", response, decode);
      return { ...response, body: observed(body, keeps ? record : undefined, end) };
    }
    return response;
  }

  /** Whoever could not show who he is has no user to choose a rule by; he is written down as nobody. */
  unauthenticated(exchange: AuditContext, response: ApiResponse): void {
    const { scope } = exchange;
    if (scope !== undefined) this.#writeRefusal(exchange, scope, response, this.#strangers);
  }

  /** As above, and what could not be read may be about nothing: it is matched as a path that no rule names. */
  refused(exchange: AuditContext, response: ApiResponse): void {
    const verb = exchange.request.method.toLowerCase();
    const scope = exchange.scope ?? { ...unread, verb };
    this.#writeRefusal(exchange, scope, response, this.#refusals);
  }

  #writeRefusal(
    exchange: AuditContext,
    scope: RequestScope,
    response: ApiResponse,
    refusals: EventSampler,
  ): void {
    const rule = ruleFor(this.#options.policy, anonymousUser, scope);
    if (rule === undefined) return;
    if (!refusals.take(this.#options.clock.monotonic(), lengthOf(exchange))) {
      this.#leaveOut(refusals);
      return;
    }
    const record = new AuditRecord(exchange, { ...rule, level: "Metadata" });
    annotateOmitted(record, refusals);
    void this.#write(record, "ResponseStarted", response, undefined);
  }

  /** Strangers who ask for too much are written down only for what they are given. */
  #admit(record: AuditRecord, exchange: AuditContext): void {
    const hasRoom = this.#strangers.take(this.#options.clock.monotonic(), lengthOf(exchange));
    if (hasRoom) annotateOmitted(record, this.#strangers);
    else record.isCrowdedOut = true;
  }

  #leaveOut(refusals: EventSampler): void {
    refusals.leaveOut();
    this.#options.onLeftOut?.();
  }

  async close(): Promise<void> {
    await this.#long.done();
    await Promise.all(this.#options.backends.map((backend) => backend.close()));
  }

  /** Awaited by the answer that it completes. Other stages void the promise: backends report what they lose. */
  #write(
    record: AuditRecord,
    stage: AuditStage,
    response: ApiResponse | undefined,
    decode: Decode | undefined,
  ): MaybePromise<void> {
    if (record.rule.omitStages.has(stage)) return undefined;
    const { clock, onEvent } = this.#options;
    const nowMs = clock.now();
    onEvent?.(record.rule.level);
    const bytes = stage === "RequestReceived" ? 0 : record.bodyBytes(response);
    const event = () => record.event(stage, nowMs, response, decode);
    if (bytes <= smallBodiesBytesMax) return this.#hand(runSync(event()));
    // Long ones are made one after the other, whoever they are of: no answer waits for another's.
    if (!this.#long.add(bytes, () => this.#handLong(event()))) {
      record.leaveOutBodies("too many long ones wait to be written down");
      const short = response === undefined ? undefined : { ...response, body: undefined };
      return this.#hand(runSync(record.event(stage, nowMs, short, undefined)));
    }
    return undefined;
  }

  *#handLong(made: Resumable<JsonObject>): Resumable<void> {
    const event = yield* made;
    void this.#hand(event, yield* stringifyResumable(event));
  }

  #hand(event: JsonObject, encoded?: string): MaybePromise<void> {
    const waited: Promise<void>[] = [];
    for (const backend of this.#options.backends) {
      const written = backend.write(event, encoded);
      if (written instanceof Promise) waited.push(written);
    }
    if (waited.length === 0) return undefined;
    return waited.length === 1 ? waited[0] : Promise.all(waited).then(() => {});
  }
}

const unread: PathScope = {
  kind: "path",
  cluster: unresolvedCluster,
  path: "",
  query: new URLSearchParams(),
  verb: "",
};

/** What an event repeats of a request, once or a few times. */
function lengthOf({ request: { target, headers } }: AuditContext): number {
  return target.length + (header(headers, "user-agent")?.length ?? 0);
}

function annotateOmitted(record: AuditRecord, refusals: EventSampler): void {
  const leftOut = refusals.tell();
  if (leftOut > 0) record.annotate("audit.kcp.io/requests-left-out", String(leftOut));
}

/** The same stream; what of it is to be kept is kept until it is too much. */
async function* observed(
  body: AsyncIterable<Uint8Array>,
  keeper: AuditRecord | undefined,
  end: () => MaybePromise<void>,
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
