/**
 * One API server without its sockets: rooms wired together, start, drain, stop.
 *
 * `handle` is the only way in; a listener calls it for every request from the network, an in-process client calls it directly.
 */
import { randomUUID } from "node:crypto";
import type { Clock, Random, Supervisor } from "@kcp-ts/machinery/base";
import { type AccessControl, accessControl, type ComposeAuthorization } from "./access-control.ts";
import { accountObjects } from "./account-objects.ts";
import {
  Admission,
  type AdmissionPlugin,
  certificateSigners,
  type NamespaceSource,
  namespaceLifecycle,
  reservedDefinitions,
} from "./admission/index.ts";
import { PolicyChecker } from "./admission-sources/index.ts";
import { configuredAdmission } from "./admission-wiring.ts";
import {
  type ApiSharing,
  type ExportConsumers,
  type SyncerViews,
  VirtualWorkspaces,
} from "./api-sharing/index.ts";
import { type AuditTrailOptions, composeAudit } from "./audit-trail.ts";
import {
  type AccountObjects,
  type RequestAuthenticator,
  WorkspaceTokens,
} from "./authentication/index.ts";
import type { Authorizer, LogicalClusterSource } from "./authorization/index.ts";
import { createAuthorization } from "./authorize-create.ts";
import { ClusterAuthenticator } from "./cluster-authenticator.ts";
import { Compactor, type CompactorOptions } from "./compactor.ts";
import type { CustomResources } from "./custom-resources/index.ts";
import { withCheckedStorage } from "./damaged-values.ts";
import { Deadlines } from "./deadlines.ts";
import type { Exchange } from "./exchange.ts";
import { maximalPermissions, serviceAccess } from "./export-access.ts";
import { FlowObjects } from "./flow-objects.ts";
import type { FurtherSubresource, Reviewers, TokenSource } from "./handlers/index.ts";
import type { HealthChecks } from "./health/index.ts";
import { healthChecks } from "./health-wiring.ts";
import { metricsOf } from "./metrics-wiring.ts";
import { namespaceGuard, namespaceSource } from "./namespace-source.ts";
import { answer, type PipelineRooms } from "./pipeline.ts";
import {
  type BesideResource,
  type Catalog,
  Registry,
  type ResourceDefinition,
} from "./registry/index.ts";
import type { ApiRequest, ApiResponse, MaybePromise } from "./request/api-request.ts";
import { observe } from "./request-sample.ts";
import type { PublishedDocuments } from "./routing/index.ts";
import { servedKinds } from "./served-kinds.ts";
import { type ServiceObjectsOptions, serviceObjects } from "./service-objects.ts";
import { signerRules } from "./signer-rules.ts";
import type { SnapshotSource, Storage } from "./storage/index.ts";
import { storeFaultTeller } from "./store-faults.ts";
import { StoredLimits } from "./stored-limits.ts";
import { StoredObjects } from "./stored-objects.ts";
import { SupervisedLoops } from "./supervised-loops.ts";
import type { SyncerViewSources } from "./syncer-view-sources.ts";
import type { NamespaceContent, RootContent, Tenancy } from "./tenancy/index.ts";
import type { Topology } from "./topology/index.ts";
import { composeTraffic, type TrafficOptions } from "./traffic.ts";
import type { UnreadBudget, WatchCache, WatchCacheOptions } from "./watch-cache/index.ts";
import { watchCacheOf } from "./watch-cache-wiring.ts";
import {
  type ForwarderOptions,
  RequestForwarder,
  tenantDocuments,
  WebhookClient,
  type WebhookClientOptions,
} from "./webhooks/index.ts";

export interface ApiServerOptions extends TrafficOptions {
  /** Which requests are written down, and where; nothing is when it is left out. */
  readonly audit?: AuditTrailOptions | undefined;
  readonly storage: Storage;
  /** The same store, if it can be read as a whole: for GET /backup. */
  readonly snapshots?: SnapshotSource | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Or how to make it, for authenticators that look things up in this server. */
  readonly authenticator:
    | RequestAuthenticator
    | ((objects: AccountObjects) => RequestAuthenticator);
  /** Whom tokens must be meant for that issuers of workspace types sign. */
  readonly apiAudiences?: readonly string[] | undefined;
  /** Makes the tokens of service accounts; without it they get none. */
  readonly tokens?: TokenSource | undefined;
  /** Published for those who verify such tokens themselves. */
  readonly issuerDocuments?: PublishedDocuments | undefined;
  /** system:masters, then RBAC, if left out. */
  readonly authorization?: ComposeAuthorization;
  /** Put in front of the authorizer: decides who may enter a logical cluster at all. Everybody may if it is left out. */
  readonly gate?: (inner: Authorizer, clusters: LogicalClusterSource) => Authorizer;
  readonly log: ServerLog;
  readonly admissionPlugins?: readonly AdmissionPlugin[];
  /** Served in every logical cluster, besides the built-in ones. */
  readonly resources?: readonly ResourceDefinition[];
  readonly compaction?: Partial<CompactorOptions["policy"]>;
  readonly collectionBytesMax?: number;
  readonly bookmarkIntervalMs?: number;
  readonly unread?: WatchCacheOptions["unread"];
  /** How webhooks that tenants name are called, for admission and for conversion. */
  readonly webhooks?: Omit<WebhookClientOptions, "clock" | "serviceObjects">;
  /** How workspaces that are mounts are reached; private addresses are denied to them as to webhooks. */
  readonly mounts?: Pick<
    ForwarderOptions,
    "certificatePem" | "privateKeyPem" | "caPem" | "allowedHosts"
  >;
  /** Virtual workspaces for the agents of physical clusters; there are none if it is left out. */
  readonly syncerViews?: ((sources: SyncerViewSources) => SyncerViews) | undefined;
  /** Things to do with objects that their definitions do not name: `pods/exec` of Pods that run elsewhere. */
  readonly furtherSubresources?: ((authorizer: Authorizer) => FurtherSubresource) | undefined;
  /** Who answers further kinds that are questions, by group and resource. */
  readonly furtherReviewers?: ((authorizer: Authorizer) => Reviewers) | undefined;
  /** Served where other resources are. They are for those who ask, and do not count as content of a logical cluster. */
  readonly besides?: readonly BesideResource[] | undefined;
  /** What the logical cluster root begins with, where it is not as usual. */
  readonly root?: RootContent | undefined;
  /** False: users have no homes, and `~` in root is a name like any other. */
  readonly homeWorkspaces?: boolean | undefined;
  /** Gives memory back that is no longer needed; called while everything is read through. */
  readonly tidyMemory?: (() => void) | undefined;
}

/** The words of a log; structured fields first, constant message last, as pino has them. */
export interface ServerLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  isLevelEnabled(level: string): boolean;
}

export class ApiServer {
  readonly #options: ApiServerOptions;
  readonly #rooms: PipelineRooms;
  readonly #watchCache: WatchCache;
  readonly #compactor: Compactor;
  readonly #storedObjects: StoredObjects;
  readonly #customResources: CustomResources;
  readonly #tenancy: Tenancy;
  readonly #topology: Topology;
  readonly #sharing: ApiSharing;
  readonly #webhooks: WebhookClient;
  readonly #forwarder: RequestForwarder;
  readonly #policyChecker: PolicyChecker;
  readonly #access: AccessControl;
  readonly #services: VirtualWorkspaces;
  readonly #limits: StoredLimits;
  readonly #supervisor: SupervisedLoops;
  readonly #inFlight = { readOnly: 0, mutating: 0 };
  #flowObjects: FlowObjects | undefined;
  #isStarted = false;
  #isDraining = false;
  #idle: (() => void) | undefined;

  constructor(given: ApiServerOptions) {
    const { damaged, ...options } = withCheckedStorage(given);
    const { storage, clock, random, log } = options;
    this.#options = options;
    const supervisor = new SupervisedLoops(options);
    this.#supervisor = supervisor;
    const watchCache = watchCacheOf(options, supervisor);
    const confirmCreate = namespaceGuard(storage, watchCache, () => source);
    const newUid = randomUUID;
    const capacity = this.#storedLimits(watchCache);
    this.#limits = capacity;
    const parts = { storage, watchCache, clock, random, newUid };
    const registry = new Registry({ ...parts, confirmCreate, capacity });
    const source = namespaceSource(registry, watchCache);
    this.#storedObjects = new StoredObjects(storage, watchCache.hub, log);
    const counters = [damaged.counter, supervisor.restarts];
    const metrics = metricsOf(watchCache, this.#storedObjects, counters, () => this.#inFlight);
    this.#watchCache = watchCache;
    const authenticator = this.#authenticator(registry);
    this.#access = this.#accessControl(registry, authenticator);
    const { rules } = this.#access;
    this.#webhooks = this.#webhookClient({ registry, watchCache, storage, random });
    this.#forwarder = forwarderOf(options);
    const rooms = { registry, watchCache, rules, webhooks: this.#webhooks, supervisor };
    const kinds = servedKinds(options, rooms);
    ({ tenancy: this.#tenancy, topology: this.#topology } = kinds);
    this.#sharing = kinds.sharing;
    this.#customResources = kinds.customResources;
    this.#services = this.#virtualWorkspaces();
    this.#policyChecker = this.#checkPolicies(registry);
    this.#compactor = compactorOf(options, watchCache, supervisor);
    const observers = { clock, metrics, log };
    const deadlines = new Deadlines<() => void>(clock, (callback) => callback());
    this.#rooms = {
      registry,
      watchCache,
      admission: this.#composeAdmission(registry, source),
      ...{ clock, random },
      deadlines,
      audit: composeAudit(options.audit, observers),
      ...composeTraffic(options, { ...observers, deadlines, watchCache, catalog: kinds.catalog }),
      authenticator,
      tokens: options.tokens,
      issuerDocuments: options.issuerDocuments,
      authorizer: this.#access.authorizer,
      authorizeCreate: createAuthorization(this.#access.authorizer),
      furtherSubresource: options.furtherSubresources?.(this.#access.authorizer),
      reviewers: allReviewers(this.#access, options),
      tenancy: this.#tenancy,
      forwarder: this.#forwarder,
      services: this.#services,
      catalog: kinds.catalog,
      health: this.#healthChecks(),
      metrics,
      snapshots: options.snapshots,
      onAnswer: (exchange, response) => {
        observe(exchange, response, observers);
        this.#inFlight[kindOf(exchange.request)]--;
        if (this.#isDraining) this.#noteIdle();
      },
      onStoreUnavailable: storeFaultTeller(options),
      onError: (error, exchange) =>
        log.error({ err: error, path: pathOf(exchange) }, "a request failed unexpectedly"),
    };
  }

  #accessControl(registry: Registry, authenticator: ClusterAuthenticator): AccessControl {
    const { storage, clock, log, authorization: compose } = this.#options;
    const { hub } = this.#watchCache;
    return accessControl({
      ...{ storage, hub, registry, authenticator, clock, compose },
      supervisor: this.#supervisor,
      gate: this.#gate(this.#options),
      limit: maximalPermissions((cluster, group, resource) =>
        this.#sharing.policyOn(cluster, group, resource),
      ),
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

  #storedLimits({ hub }: WatchCache): StoredLimits {
    const { storage, clock, tenantLimits } = this.#options;
    const catalog = () => this.#sharing.catalog;
    return new StoredLimits(tenantLimits, {
      ...{ storage, clock, hub, catalog },
      tenancy: () => this.#tenancy,
    });
  }

  #authenticator(registry: Registry): ClusterAuthenticator {
    const { authenticator: given } = this.#options;
    const everywhere =
      typeof given === "function" ? given(accountObjects(registry, this.#watchCache)) : given;
    return new ClusterAuthenticator(everywhere, this.#workspaceTokens());
  }

  /** Those of the issuers that types of workspaces name. */
  #workspaceTokens(): WorkspaceTokens {
    const { clock, log, webhooks, apiAudiences = [] } = this.#options;
    return new WorkspaceTokens({
      issuersIn: (cluster) => this.#tenancy.authenticationIn(cluster),
      apiAudiences,
      fetch: tenantDocuments({ ...webhooks, clock }),
      clock,
      onError: (error, issuer) =>
        log.warn({ err: error, issuer }, "an issuer of a workspace type cannot be used"),
    });
  }

  #virtualWorkspaces(): VirtualWorkspaces {
    const { authorizer, roles } = this.#access;
    const { syncerViews } = this.#options;
    const own = { authorizer, catalog: this.catalog };
    const views =
      syncerViews && ((consumers: ExportConsumers) => syncerViews({ ...own, consumers }));
    return new VirtualWorkspaces(this.#sharing, serviceAccess(authorizer, roles), views);
  }

  #webhookClient(rooms: Omit<ServiceObjectsOptions, "catalog">): WebhookClient {
    return new WebhookClient({
      ...this.#options.webhooks,
      clock: this.#options.clock,
      serviceObjects: serviceObjects({ ...rooms, catalog: () => this.#rooms.catalog }),
    });
  }

  #gate({ gate }: ApiServerOptions): ((inner: Authorizer) => Authorizer) | undefined {
    if (gate === undefined) return undefined;
    const clusters: LogicalClusterSource = {
      logicalCluster: (cluster) => this.#tenancy.logicalCluster(cluster),
    };
    return (inner) => gate(inner, clusters);
  }

  /** What open watches hold for clients that have not read it. */
  get unread(): UnreadBudget {
    return this.#watchCache.unread;
  }

  /** The whole of authorization, for those in this process who must ask. */
  get authorizer(): Authorizer {
    return this.#access.authorizer;
  }

  /** Runs loops in this process; /readyz names those that are down. */
  get supervisor(): Supervisor {
    return this.#supervisor;
  }

  get catalog(): Catalog {
    return this.#sharing.catalog;
  }

  /** Who is bound to whose exports, for those in this process who must know. */
  get exportConsumers(): ExportConsumers {
    return this.#services.consumers;
  }

  async start(): Promise<void> {
    await this.#watchCache.start();
    this.#customResources.start();
    this.#tenancy.start();
    await this.#sharing.start();
    this.#topology.start();
    this.#policyChecker.start();
    this.#access.aggregation.start();
    this.#compactor.start();
    await this.#startFlowObjects();
    this.#isStarted = true;
  }

  /** Makes what the logical cluster root begins with. `externalUrl` is where clients reach this server, without a path. */
  async bootstrap(externalUrl: string): Promise<void> {
    this.#sharing.externalUrl = externalUrl;
    await this.#tenancy.bootstrap(externalUrl);
    await this.#sharing.bootstrap();
    await this.#flowObjects?.keep();
  }

  /** What namespaces have that come with a new workspace; a control loop puts it into others, and looks after it. */
  namespacesBeginWith(content: NamespaceContent): void {
    this.#tenancy.namespaceContent = content;
  }

  handle(request: ApiRequest): MaybePromise<ApiResponse> {
    this.#inFlight[kindOf(request)]++;
    return answer(request, this.#rooms);
  }

  get isReady(): boolean {
    return this.#rooms.health.readyz.every((check) => check.check() === undefined);
  }

  /** For quiet times: lets go of what is held in memory for what might follow at once. */
  settle(): Promise<void> {
    return this.#watchCache.settle();
  }

  /** readyz fails from here on, so that load balancers turn away; requests are still served. */
  beginDraining(): void {
    this.#isDraining = true;
  }

  /** Ends watches and waits for requests in flight, so that what was promised is kept. */
  async drain(): Promise<void> {
    this.beginDraining();
    this.#watchCache.endWatches();
    if (this.#inFlight.readOnly + this.#inFlight.mutating === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  /** Leaves the storage open: its owner closes it. */
  async close(): Promise<void> {
    this.#isDraining = true;
    this.#rooms.deadlines.close();
    this.#watchCache.hub.endWaits();
    await this.#flowObjects?.stop();
    await this.#rooms.audit?.close();
    await this.#compactor.stop();
    await this.#storedObjects.close();
    await this.#sharing.stop();
    await this.#topology.stop();
    await this.#tenancy.stop();
    this.#webhooks.close();
    this.#forwarder.close();
    await this.#policyChecker.stop();
    await this.#customResources.stop();
    await this.#access.aggregation.stop();
    await this.#watchCache.close();
  }

  /** In the order in which they run; quotas come last. */
  #composeAdmission(registry: Registry, source: NamespaceSource): Admission {
    const { storage, admissionPlugins = [] } = this.#options;
    const { authorizer, escalation } = this.#access;
    const watchCache = this.#watchCache;
    const { catalog, admissionPlugins: sharingPlugins } = this.#sharing;
    const webhooks = this.#webhooks;
    return new Admission([
      ...this.#tenancy.admissionPlugins,
      ...sharingPlugins,
      this.#limits.plugin,
      namespaceLifecycle(source),
      certificateSigners(signerRules(authorizer)),
      escalation,
      reservedDefinitions,
      ...admissionPlugins,
      ...configuredAdmission({
        ...{ storage, watchCache, registry, catalog, authorizer, webhooks },
        ownerOf: (cluster, group, resource) => this.#sharing.ownerOf(cluster, group, resource),
        mayHave: (cluster, collection) => this.#tenancy.mayHave(cluster, collection),
      }),
    ]);
  }

  #checkPolicies(registry: Registry): PolicyChecker {
    const { storage, log } = this.#options;
    return new PolicyChecker({
      storage,
      watchCache: this.#watchCache,
      registry,
      catalog: this.#sharing.catalog,
      supervisor: this.#supervisor,
      onError: (error) => log.warn({ err: error }, "a policy could not be type-checked"),
    });
  }

  async #startFlowObjects(): Promise<void> {
    const { fairness } = this.#rooms;
    if (fairness === undefined) return;
    const { storage, clock, log } = this.#options;
    this.#flowObjects = new FlowObjects({
      ...{ storage, clock, registry: this.#rooms.registry },
      hub: this.#watchCache.hub,
      fairness,
      onError: (error) => log.warn({ err: error }, "flow schemas could not be looked after"),
    });
    await this.#flowObjects.start();
  }

  #noteIdle(): void {
    if (this.#inFlight.readOnly + this.#inFlight.mutating === 0) this.#idle?.();
  }
}

function kindOf({ method }: ApiRequest): "readOnly" | "mutating" {
  return method === "GET" || method === "HEAD" ? "readOnly" : "mutating";
}

function pathOf(exchange: Exchange): string {
  return exchange.scope?.path ?? "";
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

function forwarderOf({ webhooks, mounts, log }: ApiServerOptions): RequestForwarder {
  return new RequestForwarder({
    ...webhooks,
    ...mounts,
    onError: (error, url) => log.warn({ err: error, url }, "a mount did not answer"),
  });
}

function allReviewers(
  { reviewers, authorizer }: AccessControl,
  { furtherReviewers }: ApiServerOptions,
): Reviewers {
  return new Map([...reviewers, ...(furtherReviewers?.(authorizer) ?? [])]);
}
