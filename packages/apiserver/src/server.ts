/**
 * ApiServer: one API server without its sockets. It wires the folders of this package together,
 * starts them, drains requests and stops.
 *
 * `handle` is the only entry point: a listener calls it for every request from the network, and an
 * in-process client calls it directly.
 */
import { randomUUID } from "node:crypto";
import type { Clock, Random, Supervisor } from "@kcp-ts/machinery/base";
import { type AccessControl, accessControl, type ComposeAuthorization } from "./access-control.ts";
import {
  ClusterAuthenticator,
  serviceAccountTokenGetter,
  signerRules,
  verbAuthorization,
} from "./access-sources/index.ts";
import {
  Admission,
  type AdmissionPlugin,
  certificateSigners,
  type NamespaceSource,
  namespaceLifecycle,
  reservedDefinitions,
} from "./admission/index.ts";
import {
  confirmNamespaceOnCreate,
  namespaceSource,
  PolicyChecker,
  pluginSources,
  type ServiceObjectsOptions,
  serviceObjects,
} from "./admission-sources/index.ts";
import { configuredAdmission } from "./admission-wiring.ts";
import {
  ClusterTokens,
  type RequestAuthenticator,
  type ServiceAccountTokenGetter,
} from "./authentication/index.ts";
import type { Authorizer } from "./authorization/index.ts";
import type { ClusterDirectory } from "./cluster-directory.ts";
import { CustomResources } from "./custom-resources/index.ts";
import {
  plainExtension,
  type ServedExtension,
  type ServerExtension,
  type ServerHost,
} from "./extension.ts";
import { ClusterStorageQuota, FlowControlConfigController } from "./flow-control-sources/index.ts";
import type { AdditionalSubresource, Reviewers, TokenSource } from "./handlers/index.ts";
import type { HealthChecks } from "./health/index.ts";
import { healthChecks } from "./health-wiring.ts";
import type { MetricSource } from "./metrics/index.ts";
import { wireMetrics } from "./metrics-wiring.ts";
import { type PipelineDependencies, requestHandler } from "./pipeline.ts";
import {
  builtIns,
  type Catalog,
  Registry,
  type ResourceDefinition,
  type VirtualResource,
  VirtualResourceCatalog,
} from "./registry/index.ts";
import type { ApiRequest, ApiResponse, MaybePromise } from "./request/api-request.ts";
import { composeRequestLimits, type RequestLimitOptions } from "./request-limits.ts";
import type { PublishedDocuments } from "./routing/index.ts";
import type { ServerLog } from "./server-log.ts";
import type { RequestContext } from "./stages/index.ts";
import {
  type AuditWiringOptions,
  composeAudit,
  Deadlines,
  type InFlightRequests,
} from "./stages/index.ts";
import type { StaticSite } from "./static-site/index.ts";
import type { SnapshotSource, Storage } from "./storage/index.ts";
import {
  Compactor,
  type CompactorOptions,
  StoredObjectCounts,
  storageFaultLogger,
  withCheckedStorage,
} from "./store-upkeep/index.ts";
import { SupervisedLoops } from "./supervised-loops.ts";
import type { Tracer } from "./tracing/index.ts";
import type { UnreadBudget, WatchCache, WatchCacheOptions } from "./watch-cache/index.ts";
import { watchCacheOf } from "./watch-cache-wiring.ts";
import { tenantDocuments, WebhookClient, type WebhookClientOptions } from "./webhooks/index.ts";

export interface ApiServerOptions<Extension extends ServerExtension = ServerExtension>
  extends RequestLimitOptions {
  /**
   * The embedder's kinds, directory of logical clusters and views; without an extension, the server
   * has none of these.
   */
  readonly extension?: ((host: ServerHost) => Extension) | undefined;
  /** The audit policy and its backends; without them, no request is audited. */
  readonly audit?: AuditWiringOptions | undefined;
  readonly storage: Storage;
  /** The same store, if it can be read as one snapshot: GET /backup serves it. */
  readonly snapshots?: SnapshotSource | undefined;
  /** Traces requests, if they are to be; the server closes it. */
  readonly tracer?: Tracer | undefined;
  /** Called when a standby says that it has taken over. */
  readonly onSuperseded?: ((by: string) => Promise<void>) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * The authenticator, or a function that creates it, for authenticators that read objects of this
   * server.
   */
  readonly authenticator:
    | RequestAuthenticator
    | ((objects: ServiceAccountTokenGetter) => RequestAuthenticator);
  /** The audiences that a token must have when an issuer of one logical cluster signs it. */
  readonly apiAudiences?: readonly string[] | undefined;
  /** Issues the tokens of service accounts; without it, service accounts have no tokens. */
  readonly tokens?: TokenSource | undefined;
  /**
   * The discovery document and the keys of the issuer, published for relying parties that verify
   * such tokens themselves.
   */
  readonly issuerDocuments?: PublishedDocuments | undefined;
  /** Composes the authorizer; system:masters, then RBAC, if omitted. */
  readonly authorization?: ComposeAuthorization;
  readonly log: ServerLog;
  readonly admissionPlugins?: readonly AdmissionPlugin[];
  /** Resources that every logical cluster serves in addition to the built-in ones. */
  readonly resources?: readonly ResourceDefinition[];
  readonly compaction?: Partial<CompactorOptions["policy"]>;
  readonly collectionBytesMax?: number;
  readonly bookmarkIntervalMs?: number;
  readonly unread?: WatchCacheOptions["unread"];
  /** Options of the client that calls the tenants' webhooks, for admission and for conversion. */
  readonly webhooks?: Omit<WebhookClientOptions, "clock" | "serviceObjects">;
  /**
   * Subresources that the definitions of their resources do not list, such as `pods/exec` of Pods
   * that run in physical clusters.
   */
  readonly additionalSubresources?: ((authorizer: Authorizer) => AdditionalSubresource) | undefined;
  /** Reviewers of further review kinds (such as SubjectAccessReview), by group and resource. */
  readonly additionalReviewers?: ((authorizer: Authorizer) => Reviewers) | undefined;
  /**
   * Virtual resources, served beside the other resources. They are computed for each request, and
   * do not count as content of a logical cluster.
   */
  readonly virtualResources?: readonly VirtualResource[] | undefined;
  /** A page that is served in front of the API, such as the console. */
  readonly site?: StaticSite | undefined;
  /** Metrics of other parts of the process, which /metrics shows after the server's own. */
  readonly metricSources?: readonly MetricSource[] | undefined;
  /** Runs a garbage collection; called while the storage is read through at the start. */
  readonly collectGarbage?: (() => void) | undefined;
}

export class ApiServer<Extension extends ServerExtension = ServerExtension> {
  readonly extension: Extension;
  readonly handle: (request: ApiRequest) => MaybePromise<ApiResponse>;
  /** Serves a request in this process, whichever server has its cluster. */
  readonly #here: (request: ApiRequest) => MaybePromise<ApiResponse>;
  readonly #options: ApiServerOptions<Extension>;
  readonly #dependencies: PipelineDependencies;
  readonly #watchCache: WatchCache;
  readonly #compactor: Compactor;
  readonly #storedObjects: StoredObjectCounts;
  readonly #customResources: CustomResources;
  readonly #served: ServedExtension;
  readonly #webhooks: WebhookClient;
  readonly #policyChecker: PolicyChecker;
  readonly #access: AccessControl;
  readonly #storageQuota: ClusterStorageQuota;
  readonly #supervisor: SupervisedLoops;
  readonly #inFlight: InFlightRequests = { readOnly: 0, mutating: 0, onIdle: undefined };
  #flowControlConfig: FlowControlConfigController | undefined;
  #isStarted = false;
  #isDraining = false;
  readonly #draining = new AbortController();

  constructor(given: ApiServerOptions<Extension>) {
    const { damaged, ...options } = withCheckedStorage(given);
    const { storage, clock, random, log } = options;
    this.#options = options;
    const supervisor = new SupervisedLoops(options);
    this.#supervisor = supervisor;
    const watchCache = watchCacheOf(options, supervisor);
    const confirmCreate = confirmNamespaceOnCreate(storage, watchCache, () => source);
    const newUid = randomUUID;
    const quota = this.#composeStorageQuota(watchCache);
    this.#storageQuota = quota;
    const parts = { storage, watchCache, clock, random, newUid };
    const registry = new Registry({ ...parts, confirmCreate, quota });
    const source = namespaceSource(registry, watchCache);
    this.#storedObjects = new StoredObjectCounts(storage, watchCache.hub, log);
    const own = [damaged.counter, supervisor.restarts, quota.topStored];
    const counters = [...own, ...(options.metricSources ?? [])];
    const metrics = wireMetrics(watchCache, this.#storedObjects, counters, () => this.#inFlight);
    this.#watchCache = watchCache;
    this.extension = this.#extend({ registry, watchCache });
    const authenticator = this.#authenticator();
    this.#access = this.#accessControl(registry, authenticator);
    this.#webhooks = this.#webhookClient({ watchCache, storage, random });
    this.#customResources = this.#defineResources(registry);
    this.#served = this.extension.complete({
      ...this.#access,
      customResources: this.#customResources,
    });
    this.#storageQuota.connect(this.#directory);
    const catalog = this.#allServed();
    this.#policyChecker = this.#checkPolicies(registry);
    this.#compactor = compactorOf(options, watchCache, supervisor);
    const observers = { clock, metrics, log };
    const deadlines = new Deadlines<() => void>(clock, (callback) => callback());
    const audit = composeAudit(options.audit, observers);
    this.#dependencies = {
      registry,
      watchCache,
      admission: this.#composeAdmission(registry, source),
      clock,
      random,
      deadlines,
      audit,
      auditEvents: audit,
      ...composeRequestLimits(options, { ...observers, deadlines, watchCache, catalog }),
      authenticator,
      tokens: options.tokens,
      issuerDocuments: options.issuerDocuments,
      authorizer: this.#access.authorizer,
      authorizeVerb: verbAuthorization(this.#access.authorizer),
      additionalSubresource: options.additionalSubresources?.(this.#access.authorizer),
      reviewers: allReviewers(this.#access, options),
      directory: this.#directory,
      services: this.#served.services,
      catalog,
      health: this.#healthChecks(),
      metrics,
      log,
      inFlight: this.#inFlight,
      ...this.#operations(),
      site: options.site,
      onStoreUnavailable: storageFaultLogger(options),
      onError: (error, context) =>
        log.error({ err: error, path: pathOf(context) }, "a request failed unexpectedly"),
    };
    const here = requestHandler(this.#dependencies);
    this.#here = here;
    const { forward } = this.#directory;
    this.handle = forward === undefined ? here : (request) => forward(request, here);
  }

  /** What the server has for its operator. */
  #operations() {
    const { snapshots, tracer, onSuperseded } = this.#options;
    return { snapshots, tracer, onSuperseded, draining: this.#draining.signal };
  }

  #accessControl(registry: Registry, authenticator: ClusterAuthenticator): AccessControl {
    const { storage, clock, log, authorization: compose } = this.#options;
    const { hub } = this.#watchCache;
    return accessControl({
      storage,
      hub,
      registry,
      authenticator,
      clock,
      compose,
      supervisor: this.#supervisor,
      contentAuthorizer: this.extension.gate,
      limit: this.extension.limit,
      onError: (error) => log.warn({ err: error }, "an aggregated role could not be written"),
    });
  }

  #healthChecks(): HealthChecks {
    return healthChecks({
      storage: this.#options.storage,
      log: this.#options.log,
      loops: this.#supervisor,
      isStarted: () => this.#isStarted,
      isDraining: () => this.#isDraining,
    });
  }

  #composeStorageQuota({ hub }: WatchCache): ClusterStorageQuota {
    const { storage, clock, tenantLimits } = this.#options;
    return new ClusterStorageQuota(tenantLimits, { storage, clock, hub });
  }

  get #directory(): ClusterDirectory {
    return this.#served.directory;
  }

  #extend({ registry, watchCache }: Pick<ServerHost, "registry" | "watchCache">): Extension {
    const { extension = plainExtension, storage, clock, random, log } = this.#options;
    const { resources = [], webhooks = {} } = this.#options;
    return extension({
      storage,
      registry,
      watchCache,
      clock,
      random,
      log,
      builtIns,
      resources,
      webhooks,
      supervisor: this.#supervisor,
      handle: (request) => this.#here(request),
    }) as Extension;
  }

  /**
   * Combines the built-in kinds, those of the extension, and the CustomResourceDefinitions of the
   * logical clusters.
   */
  #defineResources(registry: Registry): CustomResources {
    const { storage, clock, log, resources = [] } = this.#options;
    const { extension } = this;
    return new CustomResources({
      storage,
      clock,
      registry,
      watchCache: this.#watchCache,
      webhooks: this.#webhooks,
      supervisor: this.#supervisor,
      builtIns: [...builtIns, ...extension.resources, ...resources],
      rootOnly: extension.rootResources,
      onError: (error) => log.warn({ err: error }, "a custom resource definition has to wait"),
    });
  }

  /** The catalog of the directory, with the virtual resources. */
  #allServed(): ClusterDirectory["catalog"] {
    const { virtualResources = [] } = this.#options;
    const { catalog } = this.#directory;
    return virtualResources.length === 0
      ? catalog
      : new VirtualResourceCatalog(catalog, virtualResources);
  }

  #authenticator(): ClusterAuthenticator {
    const { authenticator: given } = this.#options;
    const everywhere =
      typeof given === "function" ? given(serviceAccountTokenGetter(this.#watchCache)) : given;
    return new ClusterAuthenticator(everywhere, this.#clusterTokens());
  }

  /** Authenticates the tokens of issuers that one logical cluster trusts. */
  #clusterTokens(): ClusterTokens {
    const { clock, log, webhooks, apiAudiences = [] } = this.#options;
    return new ClusterTokens({
      issuersIn: (cluster) => this.extension.issuersIn(cluster),
      apiAudiences,
      fetch: tenantDocuments({ ...webhooks, clock }),
      clock,
      onError: (error, issuer) =>
        log.warn({ err: error, issuer }, "an issuer of a workspace type cannot be used"),
    });
  }

  #webhookClient(dependencies: Omit<ServiceObjectsOptions, "catalog">): WebhookClient {
    return new WebhookClient({
      ...this.#options.webhooks,
      clock: this.#options.clock,
      serviceObjects: serviceObjects({
        ...dependencies,
        catalog: () => this.#dependencies.catalog,
      }),
    });
  }

  /** The budget of bytes that open watches buffer for clients that have not read them. */
  get unread(): UnreadBudget {
    return this.#watchCache.unread;
  }

  /** The complete authorizer, for callers inside this process. */
  get authorizer(): Authorizer {
    return this.#access.authorizer;
  }

  /** Runs loops in this process; /readyz names the loops that are down. */
  get supervisor(): Supervisor {
    return this.#supervisor;
  }

  get catalog(): Catalog {
    return this.#directory.catalog;
  }

  async start(): Promise<void> {
    await this.#watchCache.start();
    this.#customResources.start();
    await this.extension.start();
    this.#policyChecker.start();
    this.#access.aggregation.start();
    this.#compactor.start();
    await this.#startFlowObjects();
    this.#isStarted = true;
  }

  /**
   * Creates the initial content of the logical cluster root. `externalUrl` is the address at which
   * clients reach this server, without a path.
   */
  async bootstrap(externalUrl: string): Promise<void> {
    await this.extension.bootstrap(externalUrl);
    await this.#flowControlConfig?.ensure();
  }

  get isReady(): boolean {
    return this.#dependencies.health.readyz.every((check) => check.check() === undefined);
  }

  /** For idle times: releases memory that is held only to speed up requests that might follow. */
  releaseMemory(): Promise<void> {
    return this.#watchCache.releaseMemory();
  }

  /**
   * Fails readyz from now on, so that load balancers stop sending requests; requests are still
   * served.
   */
  beginDraining(): void {
    this.#isDraining = true;
  }

  /** Ends watches and waits for requests in flight, so that every acknowledged write is kept. */
  async drain(): Promise<void> {
    this.beginDraining();
    this.#watchCache.endWatches();
    this.#draining.abort();
    if (this.#inFlight.readOnly + this.#inFlight.mutating === 0) return;
    await new Promise<void>((resolve) => {
      this.#inFlight.onIdle = resolve;
    });
  }

  /** Leaves the storage open: the owner of the storage closes it. */
  async close(): Promise<void> {
    this.#isDraining = true;
    this.#dependencies.deadlines.close();
    this.#watchCache.hub.cancelWaits();
    await this.#flowControlConfig?.stop();
    await this.#dependencies.audit?.close();
    await this.#compactor.stop();
    await this.#storedObjects.close();
    await this.extension.stop();
    this.#webhooks.close();
    await this.#policyChecker.stop();
    await this.#customResources.stop();
    await this.#access.aggregation.stop();
    await this.#watchCache.close();
    await this.#options.tracer?.close();
  }

  /** The admission plugins in the order in which they run; quotas run last. */
  #composeAdmission(registry: Registry, source: NamespaceSource): Admission {
    const { storage, admissionPlugins = [] } = this.#options;
    const { authorizer, escalation } = this.#access;
    const watchCache = this.#watchCache;
    const directory = this.#directory;
    const { catalog } = directory;
    const webhooks = this.#webhooks;
    const sources = pluginSources(watchCache);
    for (const plugin of admissionPlugins) plugin.connect?.(sources);
    return new Admission([
      ...this.#served.admissionPlugins,
      this.#storageQuota.plugin,
      namespaceLifecycle(source),
      certificateSigners(signerRules(authorizer)),
      escalation,
      reservedDefinitions,
      ...admissionPlugins,
      ...configuredAdmission({
        storage,
        watchCache,
        registry,
        catalog,
        authorizer,
        webhooks,
        providers: directory,
        mayContain: (cluster, collection) => directory.mayHave(cluster, collection),
      }),
    ]);
  }

  #checkPolicies(registry: Registry): PolicyChecker {
    const { storage, log } = this.#options;
    return new PolicyChecker({
      storage,
      watchCache: this.#watchCache,
      registry,
      catalog: this.#directory.catalog,
      supervisor: this.#supervisor,
      onError: (error) => log.warn({ err: error }, "a policy could not be type-checked"),
    });
  }

  async #startFlowObjects(): Promise<void> {
    const { flowControl } = this.#dependencies;
    if (flowControl === undefined) return;
    const { storage, clock, log } = this.#options;
    this.#flowControlConfig = new FlowControlConfigController({
      storage,
      clock,
      registry: this.#dependencies.registry,
      hub: this.#watchCache.hub,
      flowControl,
      onError: (error) => log.warn({ err: error }, "flow schemas could not be looked after"),
    });
    await this.#flowControlConfig.start();
  }
}

function pathOf(context: RequestContext): string {
  return context.scope?.path ?? "";
}

function compactorOf(
  { storage, clock, log, compaction }: ApiServerOptions,
  { hub }: WatchCache,
  supervisor: Supervisor,
): Compactor {
  return new Compactor({
    storage,
    clock,
    supervisor,
    progress: () => ({ revision: hub.revision, bytes: hub.changedBytes }),
    onError: (error) => log.warn({ err: error }, "history could not be compacted"),
    policy: compaction ?? {},
  });
}

function allReviewers(
  { reviewers, authorizer }: AccessControl,
  { additionalReviewers }: ApiServerOptions,
): Reviewers {
  return new Map([...reviewers, ...(additionalReviewers?.(authorizer) ?? [])]);
}
