/**
 * THE LIST: every stage a request passes, in the order it passes them. ARCHITECTURE.md tells the same story; a test compares the two.
 *
 * A stage fills in what later ones need, or answers, or throws a StatusError. Nothing after an answer runs, except `finish`.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import { isAuthenticationError, type RequestAuthenticator } from "./authentication/index.ts";
import { type Authorizer, forbidden } from "./authorization/index.ts";
import { failure, toStatusError } from "./content/index.ts";
import { finishHeaders } from "./finish.ts";
import { type HandlerRooms, handleResource } from "./handlers/index.ts";
import type { Catalog } from "./registry/index.ts";
import { type ApiRequest, type ApiResponse, header } from "./request/api-request.ts";
import type { Attributes } from "./request/attributes.ts";
import type { RequestScope } from "./request/request-scope.ts";
import { anonymousUser, type UserInfo } from "./request/user.ts";
import { type PathRooms, parseTarget, servePath } from "./routing/index.ts";

export interface PipelineRooms extends HandlerRooms, PathRooms {
  readonly authenticator: RequestAuthenticator;
  readonly authorizer: Authorizer;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Told of every request when its answer is ready. */
  readonly onAnswer: (exchange: Exchange, response: ApiResponse) => void;
  /** Told of errors that no stage meant to throw. */
  readonly onError: (error: unknown, exchange: Exchange) => void;
}

/** A request on its way: what the stages have found out so far. */
export interface Exchange {
  readonly request: ApiRequest;
  readonly startedAt: number;
  readonly warnings: string[];
  readonly controller: AbortController;
  scope: RequestScope | undefined;
  user: UserInfo;
  deadline: Timer | undefined;
}

type StageResult = ApiResponse | undefined;
type Stage = (exchange: Exchange, rooms: PipelineRooms) => StageResult | Promise<StageResult>;

export const pipeline: readonly (readonly [name: string, stage: Stage])[] = [
  ["route", route],
  ["deadline", setDeadline],
  ["authenticate", authenticate],
  ["authorize", authorize],
  ["dispatch", dispatch],
];

export async function answer(request: ApiRequest, rooms: PipelineRooms): Promise<ApiResponse> {
  const exchange: Exchange = {
    request,
    startedAt: rooms.clock.monotonic(),
    warnings: [],
    controller: new AbortController(),
    scope: undefined,
    user: anonymousUser,
    deadline: undefined,
  };
  request.onClose(() => exchange.controller.abort(clientGone));
  let response: ApiResponse;
  try {
    response = await untilAborted(run(exchange, rooms), exchange.controller.signal);
  } catch (error) {
    const status = toStatusError(error);
    if (!(error instanceof StatusError) || status.cause !== undefined)
      rooms.onError(error, exchange);
    response = failure(status);
  } finally {
    exchange.deadline?.cancel();
  }
  finishHeaders(exchange, response);
  rooms.onAnswer(exchange, response);
  return response;
}

const clientGone = new StatusError({
  code: 499,
  reason: "ClientClosedRequest",
  message: "the client went away",
});

/** Time is up for every stage alike, also for one that waits for a body and looks at no signal. */
function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const stop = () => signal.removeEventListener("abort", onAbort);
    work.then(resolve, reject).finally(stop);
  });
}

async function run(exchange: Exchange, rooms: PipelineRooms): Promise<ApiResponse> {
  for (const [, stage] of pipeline) {
    const result = stage(exchange, rooms);
    const response = result instanceof Promise ? await result : result;
    if (response !== undefined) return response;
  }
  throw statusError.pathNotFound();
}

function route(exchange: Exchange): undefined {
  const { method, target, headers } = exchange.request;
  exchange.scope = parseTarget({
    method,
    target,
    clusterHeader: header(headers, "x-kubernetes-cluster"),
  });
}

const timeoutDefaultMs = 60_000;
const writeTimeoutMaxMs = 34_000;

/** Watches run as long as they like; everything else has a minute, writes a little more than half of it. */
function setDeadline(exchange: Exchange, { clock }: PipelineRooms): undefined {
  const scope = exchange.scope as RequestScope;
  if (scope.verb === "watch") return undefined;
  const asked = scope.query.get("timeout");
  let timeoutMs = asked === null ? timeoutDefaultMs : parseTimeout(asked);
  const isRead = scope.verb === "get" || scope.verb === "list" || scope.verb === "head";
  if (!isRead) timeoutMs = Math.min(timeoutMs, writeTimeoutMaxMs);
  exchange.deadline = clock.schedule(timeoutMs, () =>
    exchange.controller.abort(
      statusError.timeout("request did not complete within the allotted timeout"),
    ),
  );
  return undefined;
}

const durationUnitMs = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** A Go duration; zero and more than a minute mean the default. */
function parseTimeout(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)];
  const isWhole = parts.map((part) => part[0]).join("") === text && parts.length > 0;
  if (!isWhole && text !== "0") {
    throw statusError.badRequest(
      `invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`,
    );
  }
  const ms = parts.reduce(
    (sum, [, value, unit]) => sum + Number(value) * (durationUnitMs.get(unit as string) ?? 0),
    0,
  );
  return ms <= 0 || ms > timeoutDefaultMs ? timeoutDefaultMs : ms;
}

function authenticate(
  exchange: Exchange,
  { authenticator }: PipelineRooms,
): Promise<undefined> | undefined {
  const { request } = exchange;
  try {
    const user = authenticator.authenticate({
      authorization: header(request.headers, "authorization"),
      clientCertificate: request.clientCertificate(),
    });
    if (!(user instanceof Promise)) {
      exchange.user = user;
      return undefined;
    }
    return user.then((resolved) => {
      exchange.user = resolved;
      return undefined;
    }, refuse);
  } catch (error) {
    return refuse(error);
  }
}

/** Which credential was wrong, and how, is for the server's log only. */
function refuse(error: unknown): never {
  throw isAuthenticationError(error) ? statusError.unauthorized() : error;
}

function authorize(
  exchange: Exchange,
  { authorizer }: PipelineRooms,
): Promise<undefined> | undefined {
  const attributes = attributesOf(exchange);
  const decision = authorizer.authorize(attributes);
  if (decision instanceof Promise) {
    return decision.then(({ allowed }) => {
      if (!allowed) throw forbidden(attributes);
      return undefined;
    });
  }
  if (!decision.allowed) throw forbidden(attributes);
  return undefined;
}

function attributesOf({ scope, user }: Exchange): Attributes {
  const { cluster, path, verb } = scope as RequestScope;
  if (scope?.kind !== "resource") {
    return { user, verb, cluster, path, isResourceRequest: false, ...noResource };
  }
  const { group, version, resource, subresource, namespace, name } = scope;
  return {
    user,
    verb,
    cluster,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    path,
    isResourceRequest: true,
  };
}

const noResource = {
  group: "",
  version: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
} as const;

function dispatch(exchange: Exchange, rooms: PipelineRooms): ApiResponse | Promise<ApiResponse> {
  const { request, user, warnings, controller } = exchange;
  const scope = exchange.scope as RequestScope;
  if (scope.kind === "path") return servePath(request, scope, rooms);
  const definition = rooms.catalog.find(scope.cluster, scope.group, scope.version, scope.resource);
  if (definition === undefined) throw statusError.pathNotFound();
  return handleResource(
    { request, scope, definition, user, warnings, signal: controller.signal },
    rooms,
  );
}
