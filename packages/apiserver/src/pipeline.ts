/**
 * THE LIST: every stage a request passes, in the order it passes them. ARCHITECTURE.md tells the same story; a test compares the two.
 *
 * A stage fills in what later ones need, or answers, or throws a StatusError. Nothing after an answer runs, except `finish`.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import type { ClusterAuthenticator } from "./access-sources/index.ts";
import {
  hasImpersonation,
  isAuthenticationError,
  serviceAccountCluster,
} from "./authentication/index.ts";
import { type Authorizer, type Decision, forbidden } from "./authorization/index.ts";
import type { ClusterDirectory, Detour, DetourRequest } from "./cluster-directory.ts";
import { statusResponse, toStatusError } from "./content/index.ts";
import { tooBusy } from "./event-loop/index.ts";
import {
  estimateRead,
  type ObjectCounter,
  tooManyRequestsResponse,
  type WatchLimiter,
} from "./fairness/index.ts";
import { type HandlerDependencies, handlerOf } from "./handlers/index.ts";
import {
  type Catalog,
  fromStorageError,
  isStoreUnavailable,
  type ResourceDefinition,
} from "./registry/index.ts";
import {
  type ApiRequest,
  type ApiResponse,
  cancelBody,
  header,
  type MaybePromise,
} from "./request/api-request.ts";
import type { Attributes } from "./request/attributes.ts";
import { decisionRecorder } from "./request/decision-notes.ts";
import {
  type ClusterScope,
  type RequestScope,
  type ServiceScope,
  unresolvedCluster,
} from "./request/request-scope.ts";
import { anonymousUser, type UserInfo, wellKnownGroup } from "./request/user.ts";
import { type PathDependencies, servePath } from "./routing/index.ts";
import type { ServiceDecision, ServiceViews } from "./service-views.ts";
import type { Deadlines } from "./stages/index.ts";
import {
  Exchange,
  type FinishDependencies,
  finishResponse,
  flowControlOfBody,
  impersonate,
  type RouteDependencies,
  receiveBody,
  route,
  setDeadline,
  startAuditRecord,
} from "./stages/index.ts";

export interface PipelineDependencies
  extends HandlerDependencies,
    PathDependencies,
    FinishDependencies,
    RouteDependencies {
  readonly authenticator: Pick<ClusterAuthenticator, "authenticate">;
  readonly authorizer: Authorizer;
  readonly catalog: Catalog;
  readonly directory: Pick<ClusterDirectory, "resolve" | "enter" | "detourOf">;
  readonly services: ServiceViews;
  readonly clock: Clock;
  readonly deadlines: Deadlines<() => void>;
  readonly objectCount: ObjectCounter;
  /** Undefined when watches are not limited. */
  readonly watches: WatchLimiter | undefined;
  /** Told of each request that the store could not serve. */
  readonly onStoreUnavailable: () => void;
}

type StageResult = ApiResponse | undefined;
type Stage = (exchange: Exchange, rooms: PipelineDependencies) => MaybePromise<StageResult>;

export const pipeline: readonly (readonly [name: string, stage: Stage, only?: "writes"])[] = [
  ["route", route],
  ["deadline", setDeadline],
  ["authenticate", authenticate],
  ["audit", beginAudit],
  ["impersonate", impersonateStage],
  ["flowControl", flowControl],
  ["authorize", authorize],
  ["resolve", resolve],
  ["receiveBody", receiveBody, "writes"],
  ["flowControlOfBody", flowControlOfBody, "writes"],
  ["dispatch", dispatch],
];

/** Answers at once when every stage can: a read of what is at hand costs no promise, no timer and no signal. */
export function handleRequest(
  request: ApiRequest,
  rooms: PipelineDependencies,
): MaybePromise<ApiResponse> {
  const exchange = new Exchange(request, rooms.clock);
  try {
    const response = run(exchange, rooms, 0);
    if (!(response instanceof Promise)) return finishResponse(exchange, response, rooms);
    return withTimeout(exchange, response, rooms);
  } catch (error) {
    return finishResponse(exchange, failed(error, exchange, rooms), rooms);
  }
}

function run(
  exchange: Exchange,
  rooms: PipelineDependencies,
  from: number,
): MaybePromise<ApiResponse> {
  for (let at = from; at < pipeline.length; at++) {
    const entry = pipeline[at] as (typeof pipeline)[number];
    if (entry[2] === "writes" && !exchange.isWrite) continue;
    const result = entry[1](exchange, rooms);
    if (result instanceof Promise)
      return result.then((response) => response ?? continueFrom(exchange, rooms, at + 1));
    if (result !== undefined) return result;
  }
  throw statusError.pathNotFound();
}

function continueFrom(
  exchange: Exchange,
  rooms: PipelineDependencies,
  from: number,
): MaybePromise<ApiResponse> {
  exchange.throwIfAborted();
  return run(exchange, rooms, from);
}

/** The answer, or a 504 when it does not come in time; what is still being done is told to stop. */
function withTimeout(
  exchange: Exchange,
  pending: Promise<ApiResponse>,
  rooms: PipelineDependencies,
): Promise<ApiResponse> {
  return new Promise((resolve) => {
    let isAnswered = false;
    const settle = (response: ApiResponse) => {
      if (isAnswered) {
        cancelBody(response.body);
        return;
      }
      isAnswered = true;
      cancel?.();
      resolve(finishResponse(exchange, response, rooms));
    };
    const cancel =
      exchange.timeoutMs === undefined
        ? undefined
        : rooms.deadlines.add(() => {
            exchange.abort(timeUp);
            settle(statusResponse(timeUp));
          }, exchange.timeoutMs);
    pending.then(settle, (error) => settle(failed(error, exchange, rooms)));
  });
}

const timeUp = statusError.timeout("request did not complete within the allotted timeout");

function failed(error: unknown, exchange: Exchange, rooms: PipelineDependencies): ApiResponse {
  if (error === tooBusy) return tooManyRequestsResponse();
  const known = fromStorageError(error, { resource: { resource: resourceOf(exchange) } });
  const status = toStatusError(known);
  if (!(known instanceof StatusError) || status.cause !== undefined) {
    if (exchange.audit !== undefined) exchange.audit.isPanic = true;
    rooms.onError(error, exchange);
  } else if (isStoreUnavailable(status)) rooms.onStoreUnavailable();
  return statusResponse(status);
}

function resourceOf({ scope }: Exchange): string {
  return scope?.kind === "resource" ? scope.resource : "";
}

function authenticate(
  exchange: Exchange,
  { authenticator }: PipelineDependencies,
): Promise<undefined> | undefined {
  const { request } = exchange;
  try {
    const credentials = {
      authorization: header(request.headers, "authorization"),
      clientCertificate: request.clientCertificate(),
      sent: request,
      path: exchange.scope?.path,
    };
    const user = authenticator.authenticate(credentials, authenticationClusterOf(exchange));
    if (!(user instanceof Promise)) return setAuthenticatedUser(exchange, user);
    return user.then((resolved) => setAuthenticatedUser(exchange, resolved), throwUnauthorized);
  } catch (error) {
    return throwUnauthorized(error);
  }
}

/**
 * Who asks without naming a cluster means root; a service account, whose clients know one cluster only, means its own. It is as if it had been named:
 * what comes later sees no difference.
 */
function setAuthenticatedUser(exchange: Exchange, user: UserInfo): undefined {
  exchange.user = user;
  if (user.username !== anonymousUser.username) exchange.request.onAuthenticated?.(user.username);
  const { scope } = exchange;
  if (scope?.isClusterUnnamed !== true) return undefined;
  const cluster = serviceAccountCluster(user);
  if (cluster !== undefined && cluster !== scope.cluster) exchange.scope = { ...scope, cluster };
  return undefined;
}

/** Views are entered by those who are known to all logical clusters, and so is what leads nowhere. */
function authenticationClusterOf({ scope }: Exchange): ClusterScope {
  const isPlain = scope?.service === undefined && scope?.cluster !== unresolvedCluster;
  return isPlain ? (scope?.cluster ?? "*") : "*";
}

/** Which credential was wrong, and how, is for the server's log only. */
function throwUnauthorized(error: unknown): never {
  throw isAuthenticationError(error) ? statusError.unauthorized() : error;
}

function beginAudit(exchange: Exchange, { audit, clock }: PipelineDependencies): undefined {
  if (audit !== undefined) startAuditRecord(exchange, audit, clock);
  return undefined;
}

/** The server's own loops are among them, and are no tenant's. Priority and fairness let them pass as well. */
function isOperator({ groups }: UserInfo): boolean {
  return groups.includes(wellKnownGroup.masters);
}

/** Reads wait for their seat here; writes do when their body is there. */
function flowControl(
  exchange: Exchange,
  { fairness, objectCount, watches }: PipelineDependencies,
): Promise<undefined> | undefined {
  const scope = exchange.scope as RequestScope;
  if (watches !== undefined && scope.verb === "watch" && !isOperator(exchange.user))
    exchange.watchPlace = watches.take(scope.cluster, exchange.user.username);
  fairness?.classify(exchange);
  if (exchange.isWrite) return undefined;
  return fairness?.admit(exchange, estimateRead(scope, objectCount)) as Promise<undefined>;
}

function impersonateStage(
  exchange: Exchange,
  { authorizer }: PipelineDependencies,
): Promise<undefined> | undefined {
  const { request, scope, user } = exchange;
  if (!hasImpersonation(request.headers)) return undefined;
  const { cluster } = scope as RequestScope;
  return impersonate(request, user, cluster, authorizer).then((impersonated) => {
    if (impersonated === undefined) return undefined;
    exchange.impersonator = user;
    exchange.user = impersonated;
    return undefined;
  });
}

function authorize(
  exchange: Exchange,
  rooms: PipelineDependencies,
): Promise<undefined> | undefined {
  const attributes = recordingAttributesOf(exchange);
  if (exchange.detour !== undefined) return authorizeDetour(exchange, exchange.detour, attributes);
  const { cluster } = attributes;
  const entered = cluster === "*" ? undefined : rooms.directory.enter(cluster, attributes);
  return entered instanceof Promise
    ? entered.then(() => authorizeEntered(exchange, attributes, rooms))
    : authorizeEntered(exchange, attributes, rooms);
}

function authorizeEntered(
  exchange: Exchange,
  attributes: Attributes,
  { authorizer, directory, services }: PipelineDependencies,
): Promise<undefined> | undefined {
  const scope = exchange.scope as RequestScope;
  if (scope.service !== undefined)
    return authorizeService(exchange, scope.service, attributes, { authorizer, services });
  const detour = directory.detourOf(scope);
  if (detour !== undefined) {
    exchange.detour = detour;
    return authorizeDetour(exchange, detour, attributes);
  }
  const decision = authorizer.authorize(attributes);
  if (decision instanceof Promise)
    return decision.then((decided) => enforce(exchange, decided, attributes));
  return enforce(exchange, decision, attributes);
}

async function authorizeDetour(
  exchange: Exchange,
  detour: Detour,
  attributes: Attributes,
): Promise<undefined> {
  await detour.authorize(detourRequest(exchange, attributes));
}

function detourRequest(exchange: Exchange, attributes: Attributes): DetourRequest {
  const { request, user, signal } = exchange;
  return {
    ...{ request, user, signal, attributes, scope: exchange.scope as RequestScope },
    note: (decision) => auditDecision(exchange, decision),
  };
}

/** Views decide for themselves, and may have somebody else act. */
async function authorizeService(
  exchange: Exchange,
  service: ServiceScope,
  attributes: Attributes,
  { services, authorizer }: Pick<PipelineDependencies, "services" | "authorizer">,
): Promise<undefined> {
  const decision = await services.authorize(service, attributes);
  enforce(exchange, decision, attributes);
  const { actAs, isOpen } = decision;
  if (actAs === undefined) return;
  exchange.impersonator ??= exchange.user;
  exchange.user = actAs;
  if (isOpen !== true) return;
  const asked = { ...attributes, user: actAs };
  enforce(exchange, await authorizer.authorize(asked), asked);
}

/** Whether a write that turns out to create may: in a view that is for it to decide. */
function authorizeCreateIn(
  exchange: Exchange,
  { services }: PipelineDependencies,
): HandlerDependencies["authorizeCreate"] {
  const service = exchange.scope?.service as ServiceScope;
  const attributes = { ...attributesOf(exchange), verb: "create" };
  return async () => {
    enforce(exchange, await services.authorize(service, attributes), attributes);
  };
}

function enforce(
  exchange: Exchange,
  decision: Decision | ServiceDecision,
  attributes: Attributes,
): undefined {
  auditDecision(exchange, decision);
  if (decision.allowed) return undefined;
  throw forbidden(attributes, decision.reason);
}

function auditDecision(
  { audit }: Exchange,
  { allowed, reason }: Pick<Decision, "allowed" | "reason">,
): void {
  if (audit === undefined) return;
  audit.annotate("authorization.k8s.io/decision", allowed ? "allow" : "forbid");
  audit.annotate("authorization.k8s.io/reason", reason);
}

/** Where the request is audited, each step of the decision is written down. */
function recordingAttributesOf(exchange: Exchange): Attributes {
  const { audit } = exchange;
  const attributes = attributesOf(exchange);
  if (audit === undefined) return attributes;
  const annotate = (key: string, value: string) => audit.annotate(key, value);
  return { ...attributes, note: decisionRecorder(annotate, "request.auth.kcp.io") };
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

/** Finds what answers the request: the handler of a resource, a path, or what the cluster directory has instead. */
function resolve(exchange: Exchange, rooms: PipelineDependencies): Promise<undefined> | undefined {
  const { detour } = exchange;
  if (detour !== undefined) {
    exchange.serve = () => detour.serve(detourRequest(exchange, attributesOf(exchange)));
    return undefined;
  }
  const asked = exchange.scope as RequestScope;
  const scope = asked.service === undefined ? asked : rooms.services.scopeOf(asked);
  const view = scope.service === undefined ? undefined : rooms.services.catalogOf(scope);
  const catalog = view ?? rooms.catalog;
  if (scope.kind === "path") {
    const served = view === undefined ? rooms : { ...rooms, catalog };
    exchange.serve = () => servePath(exchange.request, scope, exchange.user, served);
    return undefined;
  }
  const { cluster, group, version, resource } = scope;
  const serveBy = (definition: ResourceDefinition | undefined): undefined => {
    if (definition === undefined) throw statusError.pathNotFound();
    const served =
      view === undefined
        ? rooms
        : { ...rooms, authorizeCreate: authorizeCreateIn(exchange, rooms) };
    const handled = exchange.handled(scope, definition);
    const handle = handlerOf(handled, served);
    exchange.serve = () => handle(handled, served);
    return undefined;
  };
  const found = catalog.find(cluster, group, version, resource);
  return found instanceof Promise ? found.then(serveBy) : serveBy(found);
}

function dispatch({ serve }: Exchange): MaybePromise<ApiResponse> {
  return (serve as () => MaybePromise<ApiResponse>)();
}
