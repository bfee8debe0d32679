/**
 * Workspaces and shared APIs as an extension of an API server: `new ApiServer({ …, extension:
 * tenancy({ … }) })`.
 */

import type { ServedExtension, ServerCore, ServerExtension, ServerHost } from "@kcp-ts/apiserver";
import type { ClusterIssuers } from "@kcp-ts/apiserver/authentication";
import type { Authorizer } from "@kcp-ts/apiserver/authorization";
import { customResourceDefinitions } from "@kcp-ts/apiserver/custom-resources";
import { type Catalog, collectionKeyOf, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  canBindCachedResource,
  canBindExport,
  canReadAll,
  canUseWorkspaceType,
  type LogicalClusterSource,
  maximalPermissionPolicyAuthorizer,
  virtualWorkspaceAccess,
} from "./access/index.ts";
import {
  ApiSharing,
  type ExportConsumers,
  type SyncerVirtualWorkspaces,
  VirtualWorkspaces,
} from "./api-sharing/index.ts";
import { type ForwarderOptions, RequestForwarder } from "./mounts/index.ts";
import type { SyncerVirtualWorkspaceInputs } from "./syncer-view-sources.ts";
import { Topology } from "./topology/index.ts";
import { WorkspaceDirectory } from "./workspace-directory.ts";
import {
  logicalClusters,
  type NamespaceDefaults,
  type RootBootstrapOptions,
  Tenancy,
} from "./workspaces/index.ts";

export interface TenancyExtensionOptions {
  /** Decides who may enter a logical cluster at all. Everybody may if it is left out. */
  readonly gate?: (inner: Authorizer, clusters: LogicalClusterSource) => Authorizer;
  /**
   * How workspaces that are mounts are reached; private addresses are denied to them as to
   * webhooks.
   */
  readonly mounts?:
    | Pick<ForwarderOptions, "certificatePem" | "privateKeyPem" | "caPem" | "allowedHosts">
    | undefined;
  /** Virtual workspaces for the agents of physical clusters; there are none if it is left out. */
  readonly syncerViews?:
    | ((sources: SyncerVirtualWorkspaceInputs) => SyncerVirtualWorkspaces)
    | undefined;
  /** What the logical cluster root begins with, where it is not as usual. */
  readonly root?: RootBootstrapOptions | undefined;
  /** False: users have no homes, and `~` in root is a name like any other. */
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
  #completed: Completed | undefined;

  constructor(host: ServerHost, options: TenancyExtensionOptions) {
    this.#host = host;
    this.#options = options;
    host.watchCache.hub.gone.follow(collectionKeyOf(logicalClusters));
    this.#topology = new Topology({
      ...host,
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
    this.limit = maximalPermissionPolicyAuthorizer((cluster, group, resource) =>
      this.#sharing.policyOn(cluster, group, resource),
    );
  }

  issuersIn(cluster: ClusterName): Promise<readonly ClusterIssuers[]> {
    return this.#tenancy.authenticationIn(cluster);
  }

  complete(core: ServerCore): ServedExtension {
    const sharing = this.#makeSharing(core);
    const { authorizer, roles, rules } = core;
    const { syncerViews } = this.#options;
    const views =
      syncerViews &&
      ((consumers: ExportConsumers) =>
        syncerViews({ authorizer, catalog: sharing.catalog, consumers }));
    const services = new VirtualWorkspaces(
      sharing,
      virtualWorkspaceAccess(authorizer, roles),
      views,
    );
    this.#completed = { rules, sharing, services };
    const directory = new WorkspaceDirectory({
      ...{ tenancy: this.#tenancy, sharing, authorizer, forwarder: this.#forwarder },
      split: services.split,
    });
    const admissionPlugins = [...this.#tenancy.admissionPlugins, ...sharing.admissionPlugins];
    return { directory, services, admissionPlugins };
  }

  async start(): Promise<void> {
    this.#tenancy.start();
    await this.#sharing.start();
    this.#topology.start();
  }

  async stop(): Promise<void> {
    await this.#sharing.stop();
    await this.#topology.stop();
    await this.#tenancy.stop();
    this.#forwarder.close();
  }

  async bootstrap(externalUrl: string): Promise<void> {
    this.#sharing.externalUrl = externalUrl;
    await this.#tenancy.bootstrap(externalUrl);
    await this.#sharing.bootstrap();
  }

  /** Who is bound to whose exports, for those in this process who must know. */
  get exportConsumers(): ExportConsumers {
    return this.#complete.services.consumers;
  }

  /**
   * What namespaces have that come with a new workspace; a control loop puts it into others, and
   * looks after it.
   */
  namespacesBeginWith(content: NamespaceDefaults): void {
    this.#tenancy.namespaceContent = content;
  }

  /** What the server completed it with: nothing is asked of either before. */
  get #complete(): Completed {
    if (this.#completed === undefined) throw new Error("the extension was not completed");
    return this.#completed;
  }

  get #sharing(): ApiSharing {
    return this.#complete.sharing;
  }

  #makeTenancy(): Tenancy {
    const { builtIns, resources } = this.#host;
    const { root, homeWorkspaces } = this.#options;
    return new Tenancy({
      ...this.#host,
      mayUse: (user, cluster, type) =>
        canUseWorkspaceType(this.#complete.rules)(user, cluster, type),
      bindDefaults: (cluster, path, bindings) =>
        this.#sharing.bindDefaults(cluster, path, bindings),
      keepDefaults: (cluster, path, bindings) =>
        this.#sharing.keepDefaults(cluster, path, bindings),
      defaultsComplete: (cluster, bindings) => this.#sharing.defaultsComplete(cluster, bindings),
      defaultsIn: (cluster, bindings) => this.#sharing.defaultsIn(cluster, bindings),
      kindIn: (cluster, group, version, kind) =>
        definitionOfKind(this.#sharing.catalog, cluster, { group, version, kind }),
      builtIns: [...builtIns, customResourceDefinitions, ...shared, ...resources],
      ...{ root, homeWorkspaces },
      onError: this.#warning("a workspace has to wait"),
    });
  }

  #makeSharing({ rules, customResources }: ServerCore): ApiSharing {
    const { builtIns, resources } = this.#host;
    const workspaces = this.#tenancy;
    return new ApiSharing({
      ...this.#host,
      builtIns: [customResourceDefinitions, ...builtIns, ...this.resources, ...resources],
      inner: customResources.catalog,
      conversion: customResources.conversion,
      resolve: (path) => workspaces.resolve(path),
      partitionIn: (cluster, name) => this.#topology.selectorOf(cluster, name),
      shardLabels: () => workspaces.shardLabels(),
      maintainedIn: (cluster) => workspaces.maintainedIn(cluster),
      onBinding: (cluster) => workspaces.bindingChanged(cluster),
      ownNames: (cluster) => customResources.namesIn(cluster),
      mayBind: canBindExport(rules),
      mayBindCached: canBindCachedResource(rules),
      mayReadAll: canReadAll(rules),
      onError: this.#warning("a shared API has to wait"),
    });
  }

  /** While the server stops, the work of a loop waits for the next start. */
  #warning(message: string): (error: unknown) => void {
    const { log, watchCache } = this.#host;
    return (error) => {
      if (!watchCache.hub.isStopping) log.warn({ err: error }, message);
    };
  }
}

interface Completed {
  readonly rules: Authorizer;
  readonly sharing: ApiSharing;
  readonly services: VirtualWorkspaces;
}

const shared: readonly ResourceDefinition[] = [...Topology.resources, ...ApiSharing.resources];

/** What is listed is shared by those who serve the same; what is found is the cluster's own. */
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
