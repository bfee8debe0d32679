/**
 * The request pipeline: every stage that a request passes, in the order in which it runs.
 * ARCHITECTURE.md lists the same stages, and a test compares the two lists.
 *
 * A stage sets what later stages need, or returns a response, or throws a StatusError. After a
 * response no further stage runs, except `finish`.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import type { ClusterAuthenticator } from "./access-sources/index.ts";
import type { Audit, AuditRecord } from "./audit/index.ts";
import {
  isAuthenticationError,
  serviceAccountCluster,
  webSocketAuthorizationOf,
} from "./authentication/index.ts";
import { type Authorizer, type Decision, forbidden } from "./authorization/index.ts";
import type {
  ClusterDirectory,
  UnresolvedTarget,
  UnresolvedTargetRequest,
} from "./cluster-directory.ts";
import { statusResponse, toStatusError } from "./content/index.ts";
import { tooBusy } from "./event-loop/index.ts";
import {
  estimateRead,
  type ObjectCounter,
  tooManyRequestsResponse,
  type WatchLimiter,
} from "./flow-control/index.ts";
import {
  type Handler,
  type HandlerDependencies,
  type HandlerRequest,
  handlerOf,
} from "./handlers/index.ts";
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
import { decisionRecorder } from "./request/decision-recorder.ts";
import {
  type RequestScope,
  type ServiceScope,
  unresolvedCluster,
} from "./request/request-scope.ts";
import { runInTrace } from "./request/trace-context.ts";
import { anonymousUser, isSystemMaster, type UserInfo } from "./request/user.ts";
import { type PathDependencies, servePath } from "./routing/index.ts";
import type { ServiceDecision, ServiceViews } from "./service-views.ts";
import type { Deadlines } from "./stages/index.ts";
import {
  type FinishDependencies,
  finishResponse,
  flowControlOfBody,
  impersonate,
  RequestContext,
  type RouteDependencies,
  receiveBody,
  route,
  setDeadline,
  startAuditRecord,
} from "./stages/index.ts";
import type { StaticSite } from "./static-site/index.ts";

export interface PipelineDependencies
  extends HandlerDependencies,
    PathDependencies,
    FinishDependencies,
    RouteDependencies {
  readonly authenticator: Pick<ClusterAuthenticator, "authenticate">;
  readonly authorizer: Authorizer;
  readonly catalog: Catalog;
  readonly directory: Pick<ClusterDirectory, "resolve" | "enter" | "unresolvedTargetOf">;
  readonly services: ServiceViews;
  readonly clock: Clock;
  readonly deadlines: Deadlines<() => void>;
  readonly objectCount: ObjectCounter;
  readonly site?: StaticSite | undefined;
  /** Undefined when the number of watches is not limited. */
  readonly watches: WatchLimiter | undefined;
  /** Called for each request that the store was unavailable for. */
  readonly onStoreUnavailable: () => void;
}

type StageResult = ApiResponse | undefined;
type Stage = (
  exchange: RequestContext,
  dependencies: PipelineDependencies,
) => MaybePromise<StageResult>;

/** The stages; some run only for writes, or only where the server has what they are for. */
export const pipeline: readonly (readonly [
  name: string,
  stage: Stage,
  only?: "writes" | "audit",
])[] = [
  ["route", route],
  ["deadline", setDeadline],
  ["authenticate", authenticate],
  ["audit", beginAudit, "audit"],
  ["impersonate", impersonate],
  ["flowControl", flowControl],
  ["authorize", authorize],
  ["resolve", resolve],
  ["receiveBody", receiveBody, "writes"],
  ["flowControlOfBody", flowControlOfBody, "writes"],
  ["dispatch", dispatch],
];

/**
 * The handler of all requests of a server. It responds synchronously when every stage can: a read
 * of cached objects needs no promise, no timer and no signal.
 */
export function requestHandler(
  dependencies: PipelineDependencies,
): (request: ApiRequest) => MaybePromise<ApiResponse> {
  const { audit, inFlight, clock, site, tracer } = dependencies;
  const stages = pipeline.filter(([, , only]) => only !== "audit" || audit !== undefined);
  const ofWrites = stages.map(([, stage]) => stage);
  const ofReads = stages.filter(([, , only]) => only !== "writes").map(([, stage]) => stage);
  return (request) => {
    // Files are the same for everybody, and no part of the API.
    if (site !== undefined && request.target.startsWith(site.path) && site.has(request))
      return site.serve(request);
    const context = new RequestContext(request, clock);
    inFlight[context.isWrite ? "mutating" : "readOnly"]++;
    try {
      const needed = context.isWrite ? ofWrites : ofReads;
      if (tracer !== undefined)
        context.trace = tracer.begin(header(request.headers, "traceparent"));
      const { trace } = context;
      const response =
        trace === undefined
          ? run(context, dependencies, needed, 0)
          : runInTrace(trace, () => run(context, dependencies, needed, 0));
      if (!(response instanceof Promise)) return finishResponse(context, response, dependencies);
      return withTimeout(context, response, dependencies);
    } catch (error) {
      return finishResponse(context, failed(error, context, dependencies), dependencies);
    }
  };
}

function run(
  context: RequestContext,
  dependencies: PipelineDependencies,
  stages: readonly Stage[],
  from: number,
): MaybePromise<ApiResponse> {
  for (let at = from; at < stages.length; at++) {
    const result = (stages[at] as Stage)(context, dependencies);
    if (result instanceof Promise)
      return result.then((response) => {
        if (response !== undefined) return response;
        context.throwIfAborted();
        return run(context, dependencies, stages, at + 1);
      });
    if (result !== undefined) return result;
  }
  throw statusError.pathNotFound();
}

/**
 * Resolves to the response, or to a 504 when the request exceeds its timeout; the timeout aborts
 * the work that is still in flight.
 */
function withTimeout(
  context: RequestContext,
  pending: Promise<ApiResponse>,
  dependencies: PipelineDependencies,
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
      resolve(finishResponse(context, response, dependencies));
    };
    const cancel =
      context.timeoutMs === undefined
        ? undefined
        : dependencies.deadlines.add(() => {
            context.abort(timeUp);
            settle(statusResponse(timeUp));
          }, context.timeoutMs);
    pending.then(settle, (error) => settle(failed(error, context, dependencies)));
  });
}

const timeUp = statusError.timeout("request did not complete within the allotted timeout");

function failed(
  error: unknown,
  context: RequestContext,
  dependencies: PipelineDependencies,
): ApiResponse {
  if (error === tooBusy) return tooManyRequestsResponse();
  const known = fromStorageError(error, { resource: { resource: resourceOf(context) } });
  const status = toStatusError(known);
  const isOurs = status.cause !== undefined && status.status.code >= 500;
  if (!(known instanceof StatusError) || isOurs) {
    if (context.audit !== undefined) context.audit.isPanic = true;
    dependencies.onError(error, context);
  } else if (isStoreUnavailable(status)) dependencies.onStoreUnavailable();
  return statusResponse(status, header(context.request.headers, "accept"));
}

function resourceOf({ scope }: RequestContext): string {
  return scope?.kind === "resource" ? scope.resource : "";
}

function authenticate(
  context: RequestContext,
  { authenticator }: PipelineDependencies,
): Promise<undefined> | undefined {
  const { request, scope } = context;
  if (request.vouchedUser !== undefined) return setAuthenticatedUser(context, request.vouchedUser);
  // Requests to views, and to unresolved targets, are authenticated with credentials that are valid
  // in all logical clusters.
  const isPlain = scope?.service === undefined && scope?.cluster !== unresolvedCluster;
  try {
    const credentials = {
      authorization: header(request.headers, "authorization") ?? webSocketAuthorizationOf(request),
      clientCertificate: request.clientCertificate,
      sentHeaders: request,
      path: scope?.path,
    };
    const user = authenticator.authenticate(credentials, isPlain ? (scope?.cluster ?? "*") : "*");
    if (!(user instanceof Promise)) return setAuthenticatedUser(context, user);
    return user.then((resolved) => setAuthenticatedUser(context, resolved), throwUnauthorized);
  } catch (error) {
    return throwUnauthorized(error);
  }
}

/**
 * Sets the user and the default cluster. A request that names no cluster is for root, and for the
 * service account's own cluster if a service account sends it, since its clients know only one
 * cluster. Later stages cannot distinguish the default from a named cluster.
 */
function setAuthenticatedUser(context: RequestContext, user: UserInfo): undefined {
  context.user = user;
  if (user.username !== anonymousUser.username) context.request.onAuthenticated?.(user.username);
  const { scope } = context;
  if (scope?.isClusterImplicit !== true) return undefined;
  const cluster = serviceAccountCluster(user);
  if (cluster !== undefined && cluster !== scope.cluster) context.scope = { ...scope, cluster };
  return undefined;
}

/** Responds with a plain 401: only the server's log says which credential was rejected, and why. */
function throwUnauthorized(error: unknown): never {
  throw isAuthenticationError(error) ? statusError.unauthorized() : error;
}

function beginAudit(context: RequestContext, { audit, clock }: PipelineDependencies): undefined {
  startAuditRecord(context, audit as Audit, clock);
}

/** Reads wait for a seat in this stage; writes wait for a seat when their body has arrived. */
function flowControl(
  context: RequestContext,
  { flowControl: controller, objectCount, watches }: PipelineDependencies,
): Promise<undefined> | undefined {
  const scope = context.scope as RequestScope;
  // The server's own loops are members, too: they belong to no tenant, as in flow control.
  if (watches !== undefined && scope.verb === "watch" && !isSystemMaster(context.user))
    context.watchSlot = watches.acquire(scope.cluster, context.user.username);
  if (controller === undefined) return undefined;
  controller.classify(context);
  if (context.isWrite || controller.admitExempt(context)) return undefined;
  return controller.admit(context, estimateRead(scope, objectCount)) as Promise<undefined>;
}

function authorize(
  context: RequestContext,
  dependencies: PipelineDependencies,
): Promise<undefined> | undefined {
  const { audit } = context;
  const attributes =
    audit === undefined ? attributesOf(context) : recordingAttributesOf(context, audit);
  if (context.unresolvedTarget !== undefined)
    return authorizeUnresolvedTarget(context, context.unresolvedTarget, attributes);
  const { cluster } = attributes;
  const entered = cluster === "*" ? undefined : dependencies.directory.enter(cluster, attributes);
  return entered instanceof Promise
    ? entered.then(() => authorizeEntered(context, attributes, dependencies))
    : authorizeEntered(context, attributes, dependencies);
}

function authorizeEntered(
  context: RequestContext,
  attributes: Attributes,
  { authorizer, directory, services }: PipelineDependencies,
): Promise<undefined> | undefined {
  const scope = context.scope as RequestScope;
  if (scope.service !== undefined)
    return authorizeService(context, scope.service, attributes, { authorizer, services });
  const unresolvedTarget = directory.unresolvedTargetOf(scope);
  if (unresolvedTarget !== undefined) {
    context.unresolvedTarget = unresolvedTarget;
    return authorizeUnresolvedTarget(context, unresolvedTarget, attributes);
  }
  const decision = authorizer.authorize(attributes);
  if (decision instanceof Promise)
    return decision.then((decided) => enforce(context, decided, attributes));
  return enforce(context, decision, attributes);
}

async function authorizeUnresolvedTarget(
  context: RequestContext,
  unresolvedTarget: UnresolvedTarget,
  attributes: Attributes,
): Promise<undefined> {
  await unresolvedTarget.authorize(unresolvedTargetRequest(context, attributes));
}

function unresolvedTargetRequest(
  context: RequestContext,
  attributes: Attributes,
): UnresolvedTargetRequest {
  const { request, user, signal } = context;
  return {
    request,
    user,
    signal,
    attributes,
    scope: context.scope as RequestScope,
    note: (decision) => {
      if (context.audit !== undefined) auditDecision(context.audit, decision);
    },
  };
}

/** A view authorizes its requests itself, and may have another user act for them. */
async function authorizeService(
  context: RequestContext,
  service: ServiceScope,
  attributes: Attributes,
  { services, authorizer }: Pick<PipelineDependencies, "services" | "authorizer">,
): Promise<undefined> {
  const decision = await services.authorize(service, attributes);
  enforce(context, decision, attributes);
  const { actAs, isOpen } = decision;
  if (actAs === undefined) return;
  context.impersonator ??= context.user;
  context.user = actAs;
  if (isOpen !== true) return;
  const asked = { ...attributes, user: actAs };
  enforce(context, await authorizer.authorize(asked), asked);
}

/** Authorizes a request for a second verb: in a view, the view decides. */
function authorizeVerbIn(
  context: RequestContext,
  { services }: PipelineDependencies,
): HandlerDependencies["authorizeVerb"] {
  const service = context.scope?.service as ServiceScope;
  return async (_request, verb) => {
    const attributes = { ...attributesOf(context), verb };
    enforce(context, await services.authorize(service, attributes), attributes);
  };
}

function enforce(
  context: RequestContext,
  decision: Decision | ServiceDecision,
  attributes: Attributes,
): undefined {
  if (context.audit !== undefined) auditDecision(context.audit, decision);
  if (decision.allowed) return undefined;
  throw forbidden(attributes, decision.reason);
}

function auditDecision(
  audit: AuditRecord,
  { allowed, reason }: Pick<Decision, "allowed" | "reason">,
): void {
  audit.annotate("authorization.k8s.io/decision", allowed ? "allow" : "forbid");
  audit.annotate("authorization.k8s.io/reason", reason);
}

/** The attributes of an audited request, which record each step of the authorization decision. */
function recordingAttributesOf(context: RequestContext, audit: AuditRecord): Attributes {
  const attributes = attributesOf(context);
  const annotate = (key: string, value: string) => audit.annotate(key, value);
  return { ...attributes, recordDecision: decisionRecorder(annotate, "request.auth.kcp.io") };
}

function attributesOf({ scope, user }: RequestContext): Attributes {
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

/**
 * Finds the handler that serves the request: the handler of a resource, of a path, or of an
 * unresolved target of the cluster directory.
 */
function resolve(
  context: RequestContext,
  dependencies: PipelineDependencies,
): Promise<undefined> | undefined {
  const { unresolvedTarget } = context;
  if (unresolvedTarget !== undefined) {
    context.serve = () =>
      unresolvedTarget.serve(unresolvedTargetRequest(context, attributesOf(context)));
    return undefined;
  }
  const asked = context.scope as RequestScope;
  const scope = asked.service === undefined ? asked : dependencies.services.scopeOf(asked);
  const view = scope.service === undefined ? undefined : dependencies.services.catalogOf(scope);
  const catalog = view ?? dependencies.catalog;
  if (scope.kind === "path") {
    const served = view === undefined ? dependencies : { ...dependencies, catalog };
    context.serve = () => servePath(context.request, scope, context.user, served);
    return undefined;
  }
  const { cluster, group, version, resource } = scope;
  context.scope = scope;
  const found = catalog.find(cluster, group, version, resource);
  return found instanceof Promise
    ? found.then((definition) => serveBy(definition, context, dependencies))
    : serveBy(found, context, dependencies);
}

function serveBy(
  definition: ResourceDefinition | undefined,
  context: RequestContext,
  dependencies: PipelineDependencies,
): undefined {
  if (definition === undefined) throw statusError.pathNotFound();
  context.definition = definition;
  const handler = handlerOf(context as HandlerRequest, dependencies);
  if (context.scope?.service === undefined) context.serve = handler;
  else {
    const authorizeVerb = authorizeVerbIn(context, dependencies);
    context.serve = (handled) => handler(handled, { ...dependencies, authorizeVerb });
  }
}

function dispatch(
  context: RequestContext,
  dependencies: PipelineDependencies,
): MaybePromise<ApiResponse> {
  return (context.serve as Handler)(context as HandlerRequest, dependencies);
}
