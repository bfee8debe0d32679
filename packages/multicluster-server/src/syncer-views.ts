/**
 * The syncer's view of the control plane: `/services/syncer/<cluster>/<SyncTarget>/<uid>`.
 *
 * In the logical cluster of the SyncTarget: the SyncTarget, its Lease and the imports of its own
 * APIs; of synced kinds, the objects that are assigned to it or still held by it; nothing else. In
 * logical clusters that are bound to its exports: of the exported kinds, the objects that are
 * assigned or held, and of kinds with an accepted permission claim, the same. `/clusters/*` is all
 * of these. The verb `sync` on the SyncTarget permits the use of the view. The token of an agent is
 * valid for this view and no other.
 */
import type { Authorizer, Catalog, Decision, ResourceDefinition } from "@kcp-ts/apiserver";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import {
  allResources,
  apiExports,
  apiResourceImports,
  computeExportName,
  importedResources,
  isComputeExport,
  isSyncedNative,
  locations,
  type Policies,
  policyFor,
  type SyncTarget,
  serviceImports,
  sharedTargetName,
  syncPolicies,
  syncTargets,
} from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { leases } from "@kcp-ts/sdk/kinds";
import {
  type ExportConsumers,
  type ExportReference,
  type FilteredObject,
  filteredDefinition,
  type ResourceFilter,
  type SyncerScope,
  type SyncerVirtualWorkspaces,
} from "@kcp-ts/tenancy";
import type { ImportRules } from "./agent-write-rules.ts";
import { SyncPolicyCache } from "./sync-policy-cache.ts";
import { maySync } from "./sync-target-verbs.ts";
import { namespaceNotSynced, type SyncedNamespaces, systemCluster } from "./synced-namespaces.ts";
import {
  assignedTo,
  eventsOf,
  importsOf,
  leaseOf,
  namespacesByName,
  nativeResourcesOf,
  nativeResourcesOfTenants,
  noneByName,
  onlyNamed,
  ownTarget,
  policiesFor,
  readOnly,
} from "./syncer-view-rules.ts";

export interface SyncerViewsOptions {
  readonly authorizer: Authorizer;
  readonly catalog: Catalog;
  readonly consumers: ExportConsumers;
  /** A client that may do everything. */
  readonly client: () => Client;
  readonly syncedNamespaces: Pick<SyncedNamespaces, "has">;
  /** The resources to sync when a SyncTarget does not list any. */
  readonly resourcesToSync: () => readonly string[];
}

const discoveryPath = /^\/apis?(\/|$)/;
const importedServices = `${serviceImports.resource}.${serviceImports.group}`;
const refused = { allowed: false, reason: "" };
const granted = { allowed: true, reason: "" };

export function syncerViews(options: SyncerViewsOptions): SyncerVirtualWorkspaces {
  const { authorizer, catalog, consumers, client, syncedNamespaces, resourcesToSync } = options;
  const agentPolicies = new SyncPolicyCache(client);
  return {
    async authorize(service, attributes) {
      const { user, cluster, isResourceRequest, path, verb, namespace } = attributes;
      const { cluster: home, target: name, uid } = service;
      // Admission checks upsynced copies, whichever client writes them. The agent's own Events are
      // no copies: their namespace is checked here, by the SyncTarget's name in that logical
      // cluster.
      const speaksOf = async (target: string): Promise<Decision> => {
        const isTold = attributes.resource === "events" && cluster !== "*" && namespace !== "";
        if (!isTold || (await syncedNamespaces.has({ cluster, namespace }, target))) return granted;
        return { allowed: false, reason: namespaceNotSynced(namespace, target) };
      };
      const allowed = await maySync(authorizer, user, { cluster: home, name });
      // Only users who may sync to a SyncTarget can learn whether it exists.
      if (!allowed) return refused;
      const inHome = client().inCluster(home);
      const found = await inHome.resource(syncTargets).find({ name });
      if (found?.metadata.uid !== uid)
        return { allowed: false, reason: `SyncTarget ${name} with uid ${uid} is not there` };
      if (cluster === home) return await speaksOf(name);
      const isSystemDiscovery =
        cluster === systemCluster && !isResourceRequest && discoveryPath.test(path);
      if (isSystemDiscovery) return verb === "get" ? granted : refused;
      const offer = await inHome.resource(apiExports).find({ name: computeExportName });
      if (offer === undefined || !isComputeExport(offer)) return refused;
      const isTenant = cluster === "*" || consumers.isBound(cluster, placeOf(service));
      // A tenant that has unbound has no visible namespaces: its namespaces in the cluster may be
      // deleted.
      const isLookForGone = attributes.resource === "namespaces" && verb === "get";
      if (isTenant) return await speaksOf(sharedTargetName({ cluster: home, name }));
      return isResourceRequest && isLookForGone ? granted : refused;
    },
    catalogOf: (service, cluster) => {
      if (cluster === systemCluster) return undefined;
      const policies = () => agentPolicies.of(service.cluster, service.target);
      const syncTarget = async () => {
        const { cluster: home, target: name } = service;
        return await client().inCluster(home).resource(syncTargets).find({ name });
      };
      const sources = { service, base: catalog, policies, syncTarget, resourcesToSync };
      return cluster === service.cluster
        ? new OwnClusterView(sources)
        : new TenantsView(sources, consumers);
    },
  };
}

function placeOf({ cluster }: SyncerScope): ExportReference {
  return { cluster, name: computeExportName };
}

interface ViewSources {
  readonly service: SyncerScope;
  readonly base: Catalog;
  /** The users' policies for syncing to the SyncTarget. */
  readonly policies: () => Promise<Policies>;
  readonly syncTarget: () => Promise<SyncTarget | undefined>;
  readonly resourcesToSync: () => readonly string[];
}

abstract class View implements Catalog {
  protected readonly service: SyncerScope;
  protected readonly base: Catalog;
  readonly #policies: () => Promise<Policies>;

  constructor({ service, base, policies }: ViewSources) {
    this.service = service;
    this.base = base;
    this.#policies = policies;
  }

  /**
   * Objects that are assigned to the SyncTarget, under its name `target`, with the write rules of
   * their kind.
   */
  protected async assigned(
    kind: { readonly group: string; readonly resource: string },
    target: string,
  ): Promise<ResourceFilter> {
    const policy = policyFor(await this.#policies(), kind);
    const isHome = target === this.service.target;
    // Cluster-scoped objects of the cluster are synced up to its owner, and to no tenant.
    return assignedTo(
      target,
      policy.workspaces === "All" || isHome ? policy : { ...policy, direction: "Down" },
      kind,
    );
  }

  abstract find(
    cluster: ClusterName | "*",
    group: string,
    version: string,
    resource: string,
  ): Promise<ResourceDefinition | undefined>;

  abstract all(cluster: ClusterName | "*"): Promise<readonly ResourceDefinition[]>;

  /** Whether the control plane serves the resource natively, and not by a definition. */
  protected async isNative(group: string, version: string, resource: string): Promise<boolean> {
    return (await this.base.find(systemCluster, group, version, resource)) !== undefined;
  }
}

/** The logical cluster of the SyncTarget. */
class OwnClusterView extends View {
  readonly #sources: ViewSources;

  constructor(sources: ViewSources) {
    super(sources);
    this.#sources = sources;
  }

  async find(cluster: ClusterName | "*", group: string, version: string, resource: string) {
    const base = await this.base.find(cluster, group, version, resource);
    return base && this.#shown(base);
  }

  async all(cluster: ClusterName | "*") {
    const shown = (await this.base.all(cluster)).map((base) => this.#shown(base));
    return (await Promise.all(shown)).filter((one) => one !== undefined);
  }

  async #shown(base: ResourceDefinition): Promise<ResourceDefinition | undefined> {
    if (base.isReview === true) return undefined;
    const part = await this.#partOf(base);
    return part && filteredDefinition(base, part);
  }

  async #partOf(base: ResourceDefinition): Promise<ResourceFilter | undefined> {
    const { group, version, resource } = base;
    const { target } = this.service;
    const name = group === "" ? resource : `${resource}.${group}`;
    switch (name) {
      case `${syncTargets.resource}.${syncTargets.group}`:
        return ownTarget(target);
      case `${apiResourceImports.resource}.${apiResourceImports.group}`:
        return importsOf(target, await this.#importRules());
      case `${apiExports.resource}.${apiExports.group}`:
        return onlyNamed(computeExportName);
      case `${locations.resource}.${locations.group}`:
        return readOnly;
      case `${syncPolicies.resource}.${syncPolicies.group}`:
        return policiesFor(target);
      case `${leases.resource}.${leases.group}`:
        return leaseOf(target);
      case "namespaces":
        return namespacesByName;
      case "events":
        return eventsOf(target);
    }
    if (!(await this.isNative(group, version, resource))) return await this.assigned(base, target);
    return isSyncedNative(name) || name === importedServices
      ? nativeResourcesOf(target)
      : undefined;
  }

  /** Undefined when the SyncTarget does not exist any more. */
  async #importRules(): Promise<ImportRules | undefined> {
    const { syncTarget, resourcesToSync } = this.#sources;
    const target = await syncTarget();
    if (target === undefined) return undefined;
    const requested = new Set(importedResources(target.spec?.resources, resourcesToSync()));
    const natives = new Set((await this.base.all(systemCluster)).map(formatGroupResource));
    return {
      target,
      isRequested: (api) => {
        const name = formatGroupResource(api);
        return !natives.has(name) && (requested.has(allResources) || requested.has(name));
      },
    };
  }
}

/** One or all of the logical clusters that use the clusters of this one. */
class TenantsView extends View {
  readonly #consumers: ExportConsumers;
  /** The SyncTarget's name on their objects. */
  readonly #name: string;

  constructor(sources: ViewSources, consumers: ExportConsumers) {
    super(sources);
    this.#consumers = consumers;
    const { cluster, target } = sources.service;
    this.#name = sharedTargetName({ cluster, name: target });
  }

  async find(cluster: ClusterName | "*", group: string, version: string, resource: string) {
    if (await this.isNative(group, version, resource))
      return this.#native(cluster, group, version, resource);
    const offered = this.#consumers.catalogOf(placeOf(this.service));
    const base = await offered?.find(cluster, group, version, resource);
    if (base === undefined) return undefined;
    const part = await this.assigned({ group, resource }, this.#name);
    return filteredDefinition(base, {
      ...part,
      isVisible: (seen) => part.isVisible(seen) && this.#isTenant(seen),
    });
  }

  async all(cluster: ClusterName | "*") {
    const offered = this.#consumers.catalogOf(placeOf(this.service));
    const all = (await offered?.all(cluster)) ?? [];
    const shown = all.map(({ group, version, resource }) =>
      this.find(cluster, group, version, resource),
    );
    return (await Promise.all(shown)).filter((one) => one !== undefined);
  }

  async #native(cluster: ClusterName | "*", group: string, version: string, resource: string) {
    const base = await this.base.find(cluster, group, version, resource);
    const part = group === "" ? this.#partOf(cluster, resource) : undefined;
    return base && part && filteredDefinition(base, part);
  }

  #partOf(cluster: ClusterName | "*", resource: string): ResourceFilter | undefined {
    const place = placeOf(this.service);
    if (isSyncedNative(resource))
      return nativeResourcesOfTenants(this.#name, (seen) =>
        this.#consumers.hasAccepted(seen.cluster, place, "", resource),
      );
    if (cluster === "*") return undefined;
    switch (resource) {
      case "namespaces":
        return this.#consumers.isBound(cluster, place) ? namespacesByName : noneByName;
      case "events":
        return eventsOf(this.#name);
      default:
        return undefined;
    }
  }

  /**
   * Other exporters may have the same identity; their consumers are not tenants of this SyncTarget.
   */
  #isTenant({ cluster }: FilteredObject): boolean {
    return this.#consumers.isBound(cluster, placeOf(this.service));
  }
}
