/**
 * A request on its way: what the stages have found out so far.
 *
 * Its signal and the ear for the client's leaving are made only when somebody waits for something: most reads are answered before
 * anybody does.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { StatusError } from "@kcp-ts/machinery/status";
import type { HandlerRequest } from "./handlers/index.ts";
import type { ResourceDefinition } from "./registry/index.ts";
import type { ApiRequest } from "./request/api-request.ts";
import type { RequestScope, ResourceScope } from "./request/request-scope.ts";
import { anonymousUser, type UserInfo } from "./request/user.ts";
import type { Resolution } from "./tenancy/index.ts";

export class Exchange {
  readonly request: ApiRequest;
  readonly startedAt: number;
  readonly warnings: string[] = [];
  scope: RequestScope | undefined;
  /** Set when the path of the request leads to no logical cluster of this server. */
  detour: Exclude<Resolution, { kind: "cluster" }> | undefined;
  user: UserInfo = anonymousUser;
  /** Who really asks, when they ask in another's name. */
  impersonator: UserInfo | undefined;
  definition: ResourceDefinition | undefined;
  /** Undefined for watches, which have no deadline. */
  timeoutMs: number | undefined;
  #controller: AbortController | undefined;

  constructor(request: ApiRequest, clock: Clock) {
    this.request = request;
    this.startedAt = clock.monotonic();
  }

  /** Aborts when the client goes away or the request's time is up. */
  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    this.request.onClose(() => controller.abort(clientGone));
    return controller.signal;
  }

  /** The same exchange as a handler sees it, once it is known what it is about. */
  handled(scope: ResourceScope, definition: ResourceDefinition): HandlerRequest {
    this.scope = scope;
    this.definition = definition;
    return this as unknown as HandlerRequest;
  }

  /** Stops what is still being done for this request. */
  abort(reason: StatusError): void {
    this.#controller?.abort(reason);
  }
}

const clientGone = new StatusError({
  code: 499,
  reason: "ClientClosedRequest",
  message: "the client went away",
});
