/**
 * Workspaces and shared APIs as an extension of an API server: `new ApiServer({ …, extension:
 * tenancy({ … }) })`.
 */
import type { Duplex } from "node:stream";
import type { ServedExtension, ServerCore, ServerExtension, ServerHost } from "@kcp-ts/apiserver";
import type { ClusterIssuers } from "@kcp-ts/apiserver/authentication";
import type { Authorizer } from "@kcp-ts/apiserver/authorization";
import { customResourceDefinitions } from "@kcp-ts/apiserver/custom-resources";
import { type Catalog, collectionKeyOf, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { parseObjectKey, resourcePrefix } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import {
  canBindCachedResource,
  canBindExport,
  canReadAll,
  canUseWorkspaceType,
  type LogicalClusterSource,
  maximalPermissionPolicyAuthorizer,
  sharedAccess,
  sharedPolicies,
  virtualWorkspaceAccess,
} from "./access/index.ts";
import {
  ApiSharing,
  type ExportConsumers,
  exportOfIdentity,
  type KnownShard,
  type SyncerVirtualWorkspaces,
  VirtualWorkspaces,
} from "./api-sharing/index.ts";
import { type ForwarderOptions, RequestForwarder } from "./mounts/index.ts";
import { listEntries, replicaPrefix } from "./replicas/index.ts";
import {
  type ClusterMover,
  nameOnShard,
  onlyShard,
  rootShard,
  type ShardConnections,
  type ShardOptions,
  type ShardRoutes,
  Shards,
} from "./shards/index.ts";
import { SharedObjects } from "./shared-objects.ts";
import type { SyncerVirtualWorkspaceInputs } from "./syncer-virtual-workspace-inputs.ts";
import { Topology } from "./topology/index.ts";
import { WorkspaceDirectory } from "./workspace-directory.ts";
import {
  logicalClusters,
  type NamespaceDefaults,
  type RootBootstrapOptions,
  readShard,
  shards,
  Tenancy,
} from "./workspaces/index.ts";

export interface TenancyExtensionOptions {
  /** Authorizes the access to logical clusters. Every user has access if omitted. */
  readonly gate?: (inner: Authorizer, clusters: LogicalClusterSource) => Authorizer;
  /** The options of mounts; private addresses are denied to mounts as to webhooks. */
  readonly mounts?:
    | Pick<ForwarderOptions, "certificatePem" | "privateKeyPem" | "caPem" | "allowedHosts">
    | undefined;
  /** The virtual workspaces for syncers of physical clusters; none if omitted. */
  readonly syncerViews?:
    | ((sources: SyncerVirtualWorkspaceInputs) => SyncerVirtualWorkspaces)
    | undefined;
  /** Options of the initial content of the logical cluster root. */
  readonly root?: RootBootstrapOptions | undefined;
  /** The other shards; this server is the only one if omitted. */
  readonly shards?: ShardOptions | undefined;
  /** False: users have no home workspaces, and `~` in root is a name like any other. */
  readonly homeWorkspaces?: boolean | undefined;
}

export function tenancy(
  options: TenancyExtensionOptions = {},
): (host: ServerHost) => TenancyExtension {
  return (host) => new TenancyExtension(host, options);
}

export class TenancyExtension implements ServerExtension {
  readonly resources: readonly ResourceDefinition[];
  readonly rootResources: readonly ResourceDefinition[];
  readonly gate: ((inner: Authorizer) => Authorizer) | undefined;
  readonly limit: (rbac: Authorizer) => Authorizer;
  readonly #host: ServerHost;
  readonly #options: TenancyExtensionOptions;
  readonly #topology: Topology;
  readonly #tenancy: Tenancy;
  readonly #forwarder: RequestForwarder;
  readonly #shards: Shards | undefined;
  readonly #shared: SharedObjects | undefined;
  #completed: Completed | undefined;

  constructor(host: ServerHost, options: TenancyExtensionOptions) {
    this.#host = host;
    this.#options = options;
    host.watchCache.hub.clusterDeletions.follow(collectionKeyOf(logicalClusters));
    this.#shards = options.shards && this.#makeShards(options.shards);
    this.#shared = this.#shards && this.#makeShared(this.#shards);
    this.#topology = new Topology({
      ...host,
      replicas: this.#shared?.replicas,
      onError: this.#warning("a partition set has to wait"),
    });
    this.#tenancy = this.#makeTenancy();
    this.#forwarder = new RequestForwarder({
      ...host.webhooks,
      ...options.mounts,
      onError: (error, url) => host.log.warn({ err: error, url }, "a mount did not answer"),
    });
    this.resources = [...this.#tenancy.resources, ...shared];
    this.rootResources = this.#tenancy.rootResources;
    const { gate } = options;
    this.gate = gate && ((inner) => gate(inner, this.#tenancy));
    this.limit = maximalPermissionPolicyAuthorizer(
      (cluster, group, resource) =>
        this.#sharing.maximalPermissionPolicyOf(cluster, group, resource),
      (provider) => this.#shared?.policiesOf(provider),
    );
  }

  issuersIn(cluster: ClusterName): Promise<readonly ClusterIssuers[]> {
    return this.#tenancy.authenticationConfigurationsIn(cluster);
  }

  complete(core: ServerCore): ServedExtension {
    const { authorizer, roles } = core;
    const access = this.#shared?.access;
    const rules = sharedAccess(core.rules, access, { isWithinContent: false });
    const sharing = this.#makeSharing(core, rules);
    const { syncerViews } = this.#options;
    const views =
      syncerViews &&
      ((consumers: ExportConsumers) =>
        syncerViews({ authorizer, catalog: sharing.catalog, consumers }));
    const services = new VirtualWorkspaces(
      sharing,
      virtualWorkspaceAccess(
        sharedAccess(authorizer, access, { isWithinContent: true }),
        sharedPolicies(roles, (provider) => this.#shared?.policiesOf(provider)),
      ),
      views,
    );
    this.#completed = { rules, sharing, services };
    const directory = new WorkspaceDirectory({
      tenancy: this.#tenancy,
      sharing,
      authorizer,
      forwarder: this.#forwarder,
      split: services.split,
      forward: this.#shards?.proxy.forward,
      moves: this.#shards && {
        ownName: this.#shards.routes.ownName,
        mover: this.#shards.mover,
        authorizer,
      },
    });
    const admissionPlugins = [...this.#tenancy.admissionPlugins, ...sharing.admissionPlugins];
    return { directory, services, admissionPlugins };
  }

  async start(): Promise<void> {
    await this.#shards?.start();
    await this.#shared?.replicas.start();
    this.#tenancy.start();
    await this.#sharing.start();
    await this.#shared?.startPolicies();
    this.#topology.start();
  }

  async stop(): Promise<void> {
    await this.#shared?.stop();
    await this.#sharing.stop();
    await this.#topology.stop();
    await this.#tenancy.stop();
    this.#forwarder.close();
    this.#shards?.close();
  }

  /** Which shard has which logical cluster. */
  get routes(): ShardRoutes {
    return this.#shards?.routes ?? onlyShard;
  }

  /** Requests to other shards; undefined where this server is the only one. */
  get connections(): ShardConnections | undefined {
    return this.#shards?.connections;
  }

  /** Moves logical clusters of this shard to others; undefined where it is the only one. */
  get mover(): ClusterMover | undefined {
    return this.#shards?.mover;
  }

  /** Serves a connection that another shard has opened, which has proved to be `from`. */
  serveShard(connection: Duplex, from: string): void {
    if (this.#shards === undefined) throw new Error("this server is the only shard");
    this.#shards.serve(connection, from);
  }

  async bootstrap(externalUrl: string): Promise<void> {
    this.#sharing.externalUrl = externalUrl;
    await this.#tenancy.bootstrap(externalUrl);
    await this.#sharing.bootstrap();
  }

  /** The bindings of exports, for other components of this process. */
  get exportConsumers(): ExportConsumers {
    return this.#complete.services.consumers;
  }

  /**
   * Sets the default objects of the namespaces of a new workspace; a controller adds them to other
   * namespaces, and maintains them.
   */
  namespacesBeginWith(content: NamespaceDefaults): void {
    this.#tenancy.namespaceDefaults = content;
  }

  /** The completed server; the extension is not used before its completion. */
  get #complete(): Completed {
    if (this.#completed === undefined) throw new Error("the extension was not completed");
    return this.#completed;
  }

  get #sharing(): ApiSharing {
    return this.#complete.sharing;
  }

  #makeShards(options: ShardOptions): Shards {
    return new Shards(this.#host, options, {
      resolve: (path) => this.#tenancy.resolve(path),
      logicalCluster: (cluster) => this.#tenancy.logicalCluster(cluster),
    });
  }

  #makeTenancy(): Tenancy {
    const { builtIns, resources } = this.#host;
    const { root, homeWorkspaces } = this.#options;
    return new Tenancy({
      ...this.#host,
      mayUse: (user, cluster, type) =>
        canUseWorkspaceType(this.#complete.rules)(user, cluster, type),
      createDefaultBindings: (cluster, path, bindings) =>
        this.#sharing.createDefaultBindings(cluster, path, bindings),
      maintainDefaultBindings: (cluster, path, bindings) =>
        this.#sharing.maintainDefaultBindings(cluster, path, bindings),
      areDefaultBindingsComplete: (cluster, bindings) =>
        this.#sharing.areDefaultBindingsComplete(cluster, bindings),
      defaultBindingsStateOf: (cluster, bindings) =>
        this.#sharing.defaultBindingsStateOf(cluster, bindings),
      definitionOfKind: (cluster, group, version, kind) =>
        definitionOfKind(this.#sharing.catalog, cluster, { group, version, kind }),
      builtIns: [...builtIns, customResourceDefinitions, ...shared, ...resources],
      root,
      homeWorkspaces,
      shards: this.#shards,
      replicas: this.#shared?.replicas,
      onError: this.#warning("a workspace has to wait"),
    });
  }

  #makeShared(shards: Shards): SharedObjects {
    const { routes, connections } = shards;
    shards.provide({
      [exportOfIdentity]: (_cluster, asked) => this.#sharing.exportOfIdentity(asked),
    });
    return new SharedObjects(this.#host, {
      others: {
        ownName: routes.ownName,
        shardOf: (cluster) => routes.shardOf(cluster),
        names: () => connections.names(),
        ask: (shard, operation, body) => shards.ask(clusterOn(shard), operation, body),
        request: (shard, question) => connections.request(shard, question),
      },
      isNeeded: (...object) => this.#sharing.isNeeded(...object),
      isPolicyNeeded: (provider) => this.#sharing.isPolicyNeeded(provider),
      onError: this.#warning("objects of another shard have to wait"),
    });
  }

  /** The Shard objects of root, here or their replicas. */
  async #knownShards(): Promise<readonly KnownShard[]> {
    const { storage } = this.#host;
    const isHere = this.#shared?.replicas.shardOf(rootCluster) === undefined;
    const prefix = isHere ? resourcePrefix(collectionKeyOf(shards)) : replicaPrefix(shards);
    const found: KnownShard[] = [];
    for await (const entry of listEntries(storage, prefix)) {
      const { name } = parseObjectKey(entry.key);
      const { labels, virtualWorkspaceUrl } = readShard(decodeObject(entry));
      found.push({ name, labels, virtualWorkspaceUrl });
    }
    return found;
  }

  #makeSharing(core: ServerCore, rules: Authorizer): ApiSharing {
    const { customResources } = core;
    const { builtIns, resources } = this.#host;
    const workspaces = this.#tenancy;
    return new ApiSharing({
      ...this.#host,
      builtIns: [customResourceDefinitions, ...builtIns, ...this.resources, ...resources],
      inner: customResources.catalog,
      conversion: customResources.conversion,
      resolve: async (path) => workspaces.resolve(path),
      partitionIn: (cluster, name) => this.#topology.selectorOf(cluster, name),
      shardLabels: () => workspaces.shardLabels(),
      shards: () => this.#knownShards(),
      followPolicy: (provider) => this.#shared?.followPolicy(provider),
      replicas: this.#shared?.replicas,
      maintainedBindingsIn: (cluster) => workspaces.maintainedBindingsIn(cluster),
      onBinding: (cluster) => workspaces.onBindingChanged(cluster),
      localDefinitionNames: (cluster) => customResources.namesIn(cluster),
      canBind: canBindExport(rules),
      canBindCachedResource: canBindCachedResource(rules),
      canReadAll: canReadAll(rules),
      onError: this.#warning("a shared API has to wait"),
    });
  }

  /**
   * While the server stops, errors of a controller are not logged: its work resumes at the next
   * start.
   */
  #warning(message: string): (error: unknown) => void {
    const { log, watchCache } = this.#host;
    return (error) => {
      if (!watchCache.hub.isStopping) log.warn({ err: error }, message);
    };
  }
}

/** A name that leads to a shard; no logical cluster has it. */
function clusterOn(shard: string): ClusterName {
  return shard === rootShard ? rootCluster : nameOnShard("0000000000000000" as ClusterName, shard);
}

interface Completed {
  readonly rules: Authorizer;
  readonly sharing: ApiSharing;
  readonly services: VirtualWorkspaces;
}

const shared: readonly ResourceDefinition[] = [...Topology.resources, ...ApiSharing.resources];

/** Lists are shared by clusters that serve the same; the found definition is the cluster's own. */
async function definitionOfKind(
  catalog: Catalog,
  cluster: ClusterName,
  { group, version, kind }: { group: string; version: string; kind: string },
): Promise<ResourceDefinition | undefined> {
  const listed = (await catalog.all(cluster)).find(
    (one) => one.kind === kind && one.group === group && one.version === version,
  );
  return listed === undefined ? undefined : catalog.find(cluster, group, version, listed.resource);
}
