/**
 * A request on its way: what the stages have found out so far.
 *
 * Its signal, the timer behind it and the ear for the client's leaving are made only when somebody waits for something: most
 * reads are answered before anybody does.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import type { HandlerRequest } from "./handlers/index.ts";
import type { ResourceDefinition } from "./registry/index.ts";
import type { ApiRequest } from "./request/api-request.ts";
import type { RequestScope, ResourceScope } from "./request/request-scope.ts";
import { anonymousUser, type UserInfo } from "./request/user.ts";

export class Exchange {
  readonly request: ApiRequest;
  readonly startedAt: number;
  readonly warnings: string[] = [];
  readonly #clock: Clock;
  scope: RequestScope | undefined;
  user: UserInfo = anonymousUser;
  definition: ResourceDefinition | undefined;
  /** Undefined for watches, which have no deadline. */
  timeoutMs: number | undefined;
  #controller: AbortController | undefined;
  #deadline: Timer | undefined;

  constructor(request: ApiRequest, clock: Clock) {
    this.request = request;
    this.#clock = clock;
    this.startedAt = clock.monotonic();
  }

  /** Aborts when the client goes away or the request's time is up. */
  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    this.request.onClose(() => controller.abort(clientGone));
    if (this.timeoutMs !== undefined) {
      this.#deadline = this.#clock.schedule(this.timeoutMs, () => controller.abort(timeUp));
    }
    return controller.signal;
  }

  /** The same exchange as a handler sees it, once it is known what it is about. */
  handled(scope: ResourceScope, definition: ResourceDefinition): HandlerRequest {
    this.scope = scope;
    this.definition = definition;
    return this as unknown as HandlerRequest;
  }

  end(): void {
    this.#deadline?.cancel();
  }
}

const clientGone = new StatusError({
  code: 499,
  reason: "ClientClosedRequest",
  message: "the client went away",
});
const timeUp = statusError.timeout("request did not complete within the allotted timeout");
