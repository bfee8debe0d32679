/**
 * Audit: who did what, when, and what came of it, written down as events of audit.k8s.io/v1.
 *
 * Requests never wait for it: backends take what they have room for and count what they had not.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ApiResponse } from "../request/api-request.ts";
import { type PathScope, unresolvedCluster } from "../request/request-scope.ts";
import { anonymousUser } from "../request/user.ts";
import {
  type AuditedExchange,
  AuditRecord,
  auditObjectBytesMax,
  type Decode,
} from "./audit-record.ts";
import { type AuditPolicy, type AuditRule, type AuditStage, ruleFor } from "./policy.ts";
import { Refusals } from "./refusals.ts";

export interface AuditBackend {
  readonly name: string;
  /** Takes an event, or drops and counts it. Never waits. */
  write(event: JsonObject): void;
  /** Hands on what it has. */
  close(): Promise<void>;
}

export interface AuditOptions {
  readonly policy: AuditPolicy;
  readonly backends: readonly AuditBackend[];
  readonly clock: Clock;
  readonly onEvent?: (level: string) => void;
  /** Told of each refused request that is not written down because there are too many. */
  readonly onLeftOut?: () => void;
}

export class Audit {
  readonly #options: AuditOptions;
  readonly #refusals = new Refusals();

  constructor(options: AuditOptions) {
    this.#options = options;
  }

  /** Undefined when the policy has nothing to say about the request. */
  begin(exchange: AuditedExchange): AuditRecord | undefined {
    const { scope, user } = exchange;
    if (scope === undefined) return undefined;
    const rule = ruleFor(this.#options.policy, user, scope);
    if (rule === undefined) return undefined;
    const record = new AuditRecord(exchange, rule);
    this.#write(record, "RequestReceived", undefined, noBody);
    return record;
  }

  /** The answer is ready. A stream's end is told when it comes; what is kept of it depends on the level. */
  answered(record: AuditRecord, response: ApiResponse, decode: Decode): ApiResponse {
    const { body } = response;
    if (record.isPanic) this.#write(record, "Panic", response, decode);
    else if (body === undefined || body instanceof Uint8Array) {
      record.responseBody = body;
      this.#write(record, "ResponseComplete", response, decode);
    } else {
      if (response.isWatch === true) this.#write(record, "ResponseStarted", response, decode);
      const keeps = response.isWatch !== true && record.rule.level === "RequestResponse";
      const end = () => this.#write(record, "ResponseComplete", response, decode);
      return { ...response, body: observed(body, keeps ? record : undefined, end) };
    }
    return response;
  }

  /** Whoever could not show who he is has no user to choose a rule by; he is written down as nobody. */
  unauthenticated(exchange: AuditedExchange, response: ApiResponse): void {
    const { scope } = exchange;
    if (scope === undefined) return;
    const rule = ruleFor(this.#options.policy, anonymousUser, scope);
    if (rule === undefined) return;
    const level: AuditRule = { ...rule, level: "Metadata" };
    this.#write(new AuditRecord(exchange, level), "ResponseStarted", response, noBody);
  }

  /** As above, and what could not be read may be about nothing: it is matched as a path that no rule names. */
  refused(exchange: AuditedExchange, response: ApiResponse): void {
    const { policy, clock, onLeftOut } = this.#options;
    const verb = exchange.request.method.toLowerCase();
    const rule = ruleFor(policy, anonymousUser, exchange.scope ?? { ...unread, verb });
    if (rule === undefined) return;
    const leftOut = this.#refusals.next(clock.monotonic());
    if (leftOut === undefined) {
      onLeftOut?.();
      return;
    }
    const record = new AuditRecord(exchange, { ...rule, level: "Metadata" });
    if (leftOut > 0) record.annotate("audit.kcp.io/requests-left-out", String(leftOut));
    this.#write(record, "ResponseStarted", response, noBody);
  }

  async close(): Promise<void> {
    await Promise.all(this.#options.backends.map((backend) => backend.close()));
  }

  #write(
    record: AuditRecord,
    stage: AuditStage,
    response: ApiResponse | undefined,
    decode: Decode,
  ): void {
    if (record.rule.omitStages.has(stage)) return;
    const { clock, backends, onEvent } = this.#options;
    const event = record.event(stage, clock.now(), response, decode);
    onEvent?.(record.rule.level);
    for (const backend of backends) backend.write(event);
  }
}

const unread: PathScope = {
  kind: "path",
  cluster: unresolvedCluster,
  path: "",
  query: new URLSearchParams(),
  verb: "",
};

const noBody: Decode = () => undefined;

/** The same stream; what of it is to be kept is kept until it is too much. */
async function* observed(
  body: AsyncIterable<Uint8Array>,
  keeper: AuditRecord | undefined,
  end: () => void,
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
    end();
  }
}
