/**
 * One API server without its sockets: rooms wired together, start, drain, stop.
 *
 * `handle` is the only way in; a listener calls it for every request from the network, an in-process client calls it directly.
 */
import { randomUUID } from "node:crypto";
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { type AccessControl, accessControl, type ComposeAuthorization } from "./access-control.ts";
import { Admission, type AdmissionPlugin, namespaceLifecycle } from "./admission/index.ts";
import { ApiSharing } from "./api-sharing/index.ts";
import type { RequestAuthenticator } from "./authentication/index.ts";
import type { Authorizer, LogicalClusterSource } from "./authorization/index.ts";
import { Compactor, type CompactorOptions } from "./compactor.ts";
import { CustomResources, customResourceDefinitions } from "./custom-resources/index.ts";
import { Deadlines } from "./deadlines.ts";
import type { Exchange } from "./exchange.ts";
import { bindingToExport } from "./export-access.ts";
import { type HealthChecks, pingCheck } from "./health/index.ts";
import { ServerMetrics } from "./metrics/index.ts";
import { namespaceSource } from "./namespace-source.ts";
import { answer, type PipelineRooms } from "./pipeline.ts";
import { builtIns, Registry, type ResourceDefinition } from "./registry/index.ts";
import type { ApiRequest, ApiResponse, MaybePromise } from "./request/api-request.ts";
import { observe } from "./request-sample.ts";
import type { SnapshotSource, Storage } from "./storage/index.ts";
import { Tenancy } from "./tenancy/index.ts";
import { useOfType } from "./type-use.ts";
import { WatchCache } from "./watch-cache/index.ts";

export interface ApiServerOptions {
  readonly storage: Storage;
  /** The same store, if it can be read as a whole: for GET /backup. */
  readonly snapshots?: SnapshotSource | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly authenticator: RequestAuthenticator;
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
  readonly #customResources: CustomResources;
  readonly #tenancy: Tenancy;
  readonly #sharing: ApiSharing;
  readonly #access: AccessControl;
  readonly #inFlight = { readOnly: 0, mutating: 0 };
  #isStarted = false;
  #isDraining = false;
  #idle: (() => void) | undefined;

  constructor(options: ApiServerOptions) {
    const { storage, clock, random, log } = options;
    this.#options = options;
    const watchCache = watchCacheOf(options);
    const registry = new Registry({ storage, watchCache, clock, random, newUid: randomUUID });
    const metrics = new ServerMetrics({
      watchers: () => watchCache.watcherCount,
      inFlight: () => this.#inFlight,
      revision: () => watchCache.hub.revision,
      cachedCollections: () => watchCache.collections.size,
      cachedBytes: () => watchCache.collections.bytes,
    });
    this.#watchCache = watchCache;
    this.#access = accessControl({
      ...{ storage, registry, hub: watchCache.hub, compose: options.authorization },
      authenticator: options.authenticator,
      gate: this.#gate(options),
      onError: (error) => log.warn({ err: error }, "an aggregated role could not be written"),
    });
    const { rules } = this.#access;
    const { tenancy, customResources, sharing } = servedKinds(options, {
      registry,
      watchCache,
      rules,
    });
    this.#tenancy = tenancy;
    this.#sharing = sharing;
    this.#customResources = customResources;
    this.#compactor = new Compactor({
      storage,
      clock,
      progress: () => ({ revision: watchCache.hub.revision, bytes: watchCache.hub.changedBytes }),
      onError: (error) => log.warn({ err: error }, "history could not be compacted"),
      policy: options.compaction ?? {},
    });
    const observers = { clock, metrics, log };
    this.#rooms = {
      registry,
      watchCache,
      admission: new Admission([
        ...tenancy.admissionPlugins,
        ...sharing.admissionPlugins,
        namespaceLifecycle(namespaceSource(registry, watchCache)),
        this.#access.escalation,
        ...(options.admissionPlugins ?? []),
      ]),
      clock,
      deadlines: new Deadlines<() => void>(clock, (callback) => callback()),
      authenticator: options.authenticator,
      authorizer: this.#access.authorizer,
      reviewers: this.#access.reviewers,
      tenancy: this.#tenancy,
      catalog: sharing.catalog,
      health: this.#healthChecks(),
      metrics,
      snapshots: options.snapshots,
      onAnswer: (exchange, response) => {
        observe(exchange, response, observers);
        this.#inFlight[kindOf(exchange.request)]--;
        if (this.#isDraining) this.#noteIdle();
      },
      onError: (error, exchange) =>
        log.error({ err: error, path: pathOf(exchange) }, "a request failed unexpectedly"),
    };
  }

  #gate({ gate }: ApiServerOptions): ((inner: Authorizer) => Authorizer) | undefined {
    if (gate === undefined) return undefined;
    const clusters: LogicalClusterSource = {
      logicalCluster: (cluster) => this.#tenancy.logicalCluster(cluster),
    };
    return (inner) => gate(inner, clusters);
  }

  /** The whole of authorization, for those in this process who must ask. */
  get authorizer(): Authorizer {
    return this.#access.authorizer;
  }

  async start(): Promise<void> {
    await this.#watchCache.start();
    this.#customResources.start();
    this.#tenancy.start();
    await this.#sharing.start();
    this.#access.aggregation.start();
    this.#compactor.start();
    this.#isStarted = true;
  }

  /** Makes what the logical cluster root begins with. `externalUrl` is where clients reach this server, without a path. */
  bootstrap(externalUrl: string): Promise<void> {
    this.#sharing.externalUrl = externalUrl;
    return this.#tenancy.bootstrap(externalUrl);
  }

  handle(request: ApiRequest): MaybePromise<ApiResponse> {
    this.#inFlight[kindOf(request)]++;
    return answer(request, this.#rooms);
  }

  get isReady(): boolean {
    return this.#rooms.health.readyz.every((check) => check.check() === undefined);
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
    await this.#compactor.stop();
    await this.#sharing.stop();
    await this.#tenancy.stop();
    await this.#customResources.stop();
    await this.#access.aggregation.stop();
    await this.#watchCache.close();
  }

  #noteIdle(): void {
    if (this.#inFlight.readOnly + this.#inFlight.mutating === 0) this.#idle?.();
  }

  #healthChecks(): HealthChecks {
    const { storage, log } = this.#options;
    const storageCheck = {
      name: "etcd",
      check: () => {
        const fault = storage.health();
        if (fault !== undefined) log.warn({ fault: fault.message }, "the store is not healthy");
        return fault?.message;
      },
    };
    const started = {
      name: "informer-sync",
      check: () => (this.#isStarted ? undefined : "not started yet"),
    };
    const shutdown = {
      name: "shutdown",
      check: () => (this.#isDraining ? "the server is stopping" : undefined),
    };
    const logCheck = { name: "log", check: () => undefined };
    return {
      livez: [pingCheck, logCheck],
      readyz: [pingCheck, logCheck, storageCheck, started, shutdown],
    };
  }
}

function kindOf({ method }: ApiRequest): "readOnly" | "mutating" {
  return method === "GET" || method === "HEAD" ? "readOnly" : "mutating";
}

function pathOf(exchange: Exchange): string {
  return exchange.scope?.path ?? "";
}

interface ServedKinds {
  readonly tenancy: Tenancy;
  readonly customResources: CustomResources;
  readonly sharing: ApiSharing;
}

/** Everything that is served: what is built in, what tenancy adds to it, and what logical clusters define themselves. */
function servedKinds(
  { storage, clock, random, log, resources = [] }: ApiServerOptions,
  rooms: { registry: Registry; watchCache: WatchCache; rules: Authorizer },
): ServedKinds {
  const { registry, watchCache, rules } = rooms;
  const shared = ApiSharing.resources;
  const tenancy = new Tenancy({
    storage,
    registry,
    watchCache,
    clock,
    random,
    mayUse: useOfType(rules),
    builtIns: [...builtIns, customResourceDefinitions, ...shared, ...resources],
    onError: (error) => log.warn({ err: error }, "a workspace has to wait"),
  });
  const allBuiltIns = [...builtIns, ...tenancy.resources, ...shared, ...resources];
  const customResources = new CustomResources({
    storage,
    watchCache,
    clock,
    registry,
    builtIns: allBuiltIns,
    rootOnly: tenancy.rootResources,
    onError: (error) => log.warn({ err: error }, "a custom resource definition has to wait"),
  });
  const sharing = new ApiSharing({
    storage,
    registry,
    watchCache,
    clock,
    builtIns: [customResourceDefinitions, ...allBuiltIns],
    inner: customResources.catalog,
    conversion: customResources.conversion,
    resolve: (path) => tenancy.resolve(path),
    ownNames: (cluster) => customResources.namesIn(cluster),
    mayBind: bindingToExport(rules),
    onError: (error) => log.warn({ err: error }, "a shared API has to wait"),
  });
  return { tenancy, customResources, sharing };
}

function watchCacheOf(options: ApiServerOptions): WatchCache {
  const { storage, clock, log, collectionBytesMax, bookmarkIntervalMs } = options;
  return new WatchCache({
    storage,
    clock,
    onError: (error) => log.warn({ err: error }, "the change feed was interrupted"),
    ...(collectionBytesMax === undefined ? {} : { collectionBytesMax }),
    ...(bookmarkIntervalMs === undefined ? {} : { bookmarkIntervalMs }),
  });
}
