/**
 * The context of a request: the results of the stages so far.
 *
 * Its AbortSignal and the listener for the client's disconnect are created on the first
 * asynchronous wait: most reads are answered before.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { StatusError } from "@kcp-ts/machinery/status";
import type { AuditContext, AuditRecord } from "../audit/index.ts";
import type { UnresolvedTarget } from "../cluster-directory.ts";
import type { TranslatedYaml } from "../content/index.ts";
import type {
  FlowControlledRequest,
  FlowSchema,
  QueuedRequest,
  WatchSlot,
} from "../flow-control/index.ts";
import type { Handler } from "../handlers/index.ts";
import type { ResourceDefinition } from "../registry/index.ts";
import { type ApiRequest, header } from "../request/api-request.ts";
import type { RequestScope } from "../request/request-scope.ts";
import { anonymousUser, type UserInfo } from "../request/user.ts";
import type { RequestTrace } from "../tracing/index.ts";

const auditIdPattern = /^[\w.-]{1,64}$/;

export class RequestContext implements FlowControlledRequest, AuditContext {
  request: ApiRequest;
  readonly startedAt: number;
  /** Whether the request may have a body, and takes its seat when the body is received. */
  readonly isWrite: boolean;
  readonly warnings: string[] = [];
  scope: RequestScope | undefined;
  /** Set when the request is not served from objects of a logical cluster. */
  unresolvedTarget: UnresolvedTarget | undefined;
  user: UserInfo = anonymousUser;
  /** The authenticated user, when the request impersonates another user. */
  impersonator: UserInfo | undefined;
  definition: ResourceDefinition | undefined;
  /** Undefined for watches, which have no deadline. */
  timeoutMs: number | undefined;
  /**
   * State of flow control: the flow schema of the request, its seats, its position while it is
   * queued.
   */
  flowSchema: FlowSchema | undefined;
  tenantKey = "";
  seats = 0;
  queuedRequest: QueuedRequest | undefined;
  queue: FlowControlledRequest["queue"];
  isFinished = false;
  bodyBytes = 0;
  /** The slot of a watch, where watches are limited. */
  watchSlot: WatchSlot | undefined;
  /** Set when the audit policy records the request; `receivedAt` is wall-clock time. */
  audit: AuditRecord | undefined;
  /** Undefined until it is received, and for requests without a body. */
  body: Uint8Array | undefined;
  /** The decoded body, when it was sent as YAML. */
  yaml: TranslatedYaml | undefined;
  /** Serves the request, once its scope and its definition are known. */
  serve: Handler | undefined;
  receivedAt = 0;
  /** Set when requests are traced. */
  trace: RequestTrace | undefined;
  #auditId: string | undefined;
  #controller: AbortController | undefined;
  /** Set when the deadline of the request has passed, whether or not a listener exists. */
  #abortReason: StatusError | undefined;

  constructor(request: ApiRequest, clock: Clock) {
    this.request = request;
    this.startedAt = clock.monotonic();
    const { method } = request;
    this.isWrite = method !== "GET" && method !== "HEAD" && method !== "OPTIONS";
  }

  /** The client's audit ID, if it is valid in a header; a generated one otherwise. */
  get auditId(): string {
    if (this.#auditId !== undefined) return this.#auditId;
    const sent = header(this.request.headers, "audit-id");
    if (sent !== undefined && auditIdPattern.test(sent)) this.#auditId = sent;
    else {
      // A UUID that differs from the one before in its last two digits: it only has to be unique,
      // and a random one for each response costs ten times as much.
      const at = auditIdsTaken++ % lastDigits.length;
      if (at === 0) auditIdStart = randomUUID().slice(0, -2);
      this.#auditId = auditIdStart + lastDigits[at];
    }
    return this.#auditId;
  }

  /** Aborts when the client disconnects or the deadline passes. */
  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    if (this.#abortReason !== undefined) controller.abort(this.#abortReason);
    else this.request.onClose(() => controller.abort(clientGone));
    return controller.signal;
  }

  /** Adds an audit annotation of admission; ignored for requests that are not audited. */
  annotate(key: string, value: string, level: "Metadata" | "Request" = "Metadata"): void {
    this.audit?.annotateFromTenant(key, value, level);
  }

  /** Replaces a YAML body by its JSON for the following stages. */
  setYaml(translated: TranslatedYaml): void {
    this.yaml = translated;
    if ("json" in translated) this.audit?.setRequestJson(translated.json);
  }

  recordAuditObject(metadata: JsonObject): void {
    this.audit?.setObjectRef(metadata);
  }

  /** Cancels the work in flight for this request. */
  abort(reason: StatusError): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }

  /** Prevents further work for a request whose deadline has passed. */
  throwIfAborted(): void {
    if (this.#abortReason !== undefined) throw this.#abortReason;
  }
}

let auditIdStart = "";
let auditIdsTaken = 0;
const lastDigits = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));

const clientGone = new StatusError({
  code: 499,
  reason: "ClientClosedRequest",
  message: "the client went away",
});
