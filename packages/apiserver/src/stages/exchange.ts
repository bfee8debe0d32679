/**
 * A request on its way: what the stages have found out so far.
 *
 * Its signal and the ear for the client's leaving are made only when somebody waits for something: most reads are answered before
 * anybody does.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { StatusError } from "@kcp-ts/machinery/status";
import type { AuditContext, AuditRecord } from "../audit/index.ts";
import type { Detour } from "../cluster-directory.ts";
import type { TranslatedYaml } from "../content/index.ts";
import type {
  FlowControlledRequest,
  FlowSchema,
  QueuedRequest,
  WatchSlot,
} from "../fairness/index.ts";
import type { HandlerRequest } from "../handlers/index.ts";
import type { ResourceDefinition } from "../registry/index.ts";
import {
  type ApiRequest,
  type ApiResponse,
  header,
  type MaybePromise,
} from "../request/api-request.ts";
import type { RequestScope, ResourceScope } from "../request/request-scope.ts";
import { anonymousUser, type UserInfo } from "../request/user.ts";

const auditIdPattern = /^[\w.-]{1,64}$/;

export class Exchange implements FlowControlledRequest, AuditContext {
  request: ApiRequest;
  readonly startedAt: number;
  /** It may bring a body, and takes its seat when that is here. */
  readonly isWrite: boolean;
  readonly warnings: string[] = [];
  scope: RequestScope | undefined;
  /** Set when the request is answered in another way than by objects of a logical cluster. */
  detour: Detour | undefined;
  user: UserInfo = anonymousUser;
  /** Who really asks, when they ask in another's name. */
  impersonator: UserInfo | undefined;
  definition: ResourceDefinition | undefined;
  /** Undefined for watches, which have no deadline. */
  timeoutMs: number | undefined;
  /** Fairness' own notes: what the request counts as, the seats it holds, its place while it waits. */
  flowSchema: FlowSchema | undefined;
  tenantKey = "";
  seats = 0;
  waiter: QueuedRequest | undefined;
  queue: FlowControlledRequest["queue"];
  hasLeft = false;
  bodyBytes = 0;
  /** Of a watch, where these are counted. */
  watchPlace: WatchSlot | undefined;
  /** Set when the audit policy wants the request written down; `receivedAt` is by the wall. */
  audit: AuditRecord | undefined;
  /** Undefined until it is received, and for requests that bring none. */
  body: Uint8Array | undefined;
  /** What the body says, when it came as YAML and has been read. */
  yaml: TranslatedYaml | undefined;
  /** Answers the request, once it is known what it is about. */
  serve: (() => MaybePromise<ApiResponse>) | undefined;
  receivedAt = 0;
  #auditId: string | undefined;
  #controller: AbortController | undefined;
  /** Set when the request's time is up, whether or not somebody listens. */
  #abortReason: StatusError | undefined;

  constructor(request: ApiRequest, clock: Clock) {
    this.request = request;
    this.startedAt = clock.monotonic();
    const { method } = request;
    this.isWrite = method !== "GET" && method !== "HEAD" && method !== "OPTIONS";
  }

  /** The client's own, if it is one that can stand in a header; ours otherwise. */
  get auditId(): string {
    if (this.#auditId !== undefined) return this.#auditId;
    const sent = header(this.request.headers, "audit-id");
    this.#auditId = sent !== undefined && auditIdPattern.test(sent) ? sent : newAuditId();
    return this.#auditId;
  }

  /** Aborts when the client goes away or the request's time is up. */
  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    if (this.#abortReason !== undefined) controller.abort(this.#abortReason);
    else this.request.onClose(() => controller.abort(clientGone));
    return controller.signal;
  }

  /** The same exchange as a handler sees it, once it is known what it is about. */
  handled(scope: ResourceScope, definition: ResourceDefinition): HandlerRequest {
    this.scope = scope;
    this.definition = definition;
    return this as unknown as HandlerRequest;
  }

  /** A note of admission's; nobody keeps it where nobody writes the request down. */
  annotate(key: string, value: string, level: "Metadata" | "Request" = "Metadata"): void {
    this.audit?.annotateFor(key, value, level);
  }

  /** From here on it is as if JSON had been sent. */
  noteYaml(translated: TranslatedYaml): void {
    this.yaml = translated;
    if ("json" in translated) this.audit?.noteJson(translated.json);
  }

  noteObject(metadata: JsonObject): void {
    this.audit?.noteObject(metadata);
  }

  /** Stops what is still being done for this request. */
  abort(reason: StatusError): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }

  /** Nothing further is begun for a request that has been answered because its time was up. */
  throwIfAborted(): void {
    if (this.#abortReason !== undefined) throw this.#abortReason;
  }
}

let auditIdStart = "";
let auditIdsTaken = 0;
const lastDigits = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));

/** A UUID that differs from the one before in its last two digits: it has to be unique and nothing else, and a random one for each answer costs ten times as much. */
function newAuditId(): string {
  const at = auditIdsTaken++ % lastDigits.length;
  if (at === 0) auditIdStart = randomUUID().slice(0, -2);
  return auditIdStart + lastDigits[at];
}

const clientGone = new StatusError({
  code: 499,
  reason: "ClientClosedRequest",
  message: "the client went away",
});
