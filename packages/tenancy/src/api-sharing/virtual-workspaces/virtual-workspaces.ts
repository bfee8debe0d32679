/**
 * Virtual workspaces: their authorization, the user of their requests, and their content. Their
 * requests go through the same handlers as all others.
 */
import type { ServiceDecision, ServiceViews } from "@kcp-ts/apiserver";
import type { Catalog } from "@kcp-ts/apiserver/registry";
import type { Attributes } from "@kcp-ts/apiserver/request/attributes";
import type { ClusterScope, RequestScope } from "@kcp-ts/apiserver/request/request-scope";
import {
  isPrivilegedGroup,
  isSystemMaster,
  scopesKey,
  type UserInfo,
  warrantKey,
  wellKnownGroup,
} from "@kcp-ts/apiserver/request/user";
import { parseObjectKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { type JsonObject, type JsonValue, listOf, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { logicalClusters, member, uncancelled, workspaceTypes } from "../../workspaces/index.ts";
import type { BoundResourceCatalog } from "../bound-resource-catalog.ts";
import type { CachedResources } from "../cached-resources/cached-resources.ts";
import { acceptedClaimIn, bindingsTo } from "../claims.ts";
import { type ApiSharingDependencies, exportIn, keyOf } from "../dependencies.ts";
import { apiBindings, apiResourceSchemas } from "../kinds/definitions.ts";
import type { ExportRecord } from "../records.ts";
import { isSystemExport } from "../system-exports.ts";
import { ExportConsumerIndex, type ExportConsumers } from "./export-consumers.ts";
import {
  isLogicalClusters,
  type LifecycleService,
  lifecycles,
  lifecycleVirtualWorkspace,
} from "./lifecycle-virtual-workspace.ts";
import { ReplicationVirtualWorkspaces } from "./replication-virtual-workspaces.ts";
import { RestrictedDefinition } from "./restricted-definition.ts";
import { splitService } from "./split-service.ts";
import {
  type SyncerScope,
  type VirtualWorkspaceScope,
  virtualWorkspaceOf,
} from "./virtual-workspace-scope.ts";

/** The authorization queries of virtual workspaces; the wiring supplies them. */
export interface VirtualWorkspaceAccess {
  /** Authorizes any verb on the `content` of an export. */
  readonly canUseContent: (
    user: UserInfo,
    exportCluster: ClusterName,
    exportName: string,
    verb: string,
  ) => Promise<boolean>;
  readonly canRunType: (
    user: UserInfo,
    cluster: ClusterName,
    type: string,
    verb: string,
  ) => Promise<boolean>;
  readonly canReadBindings: (user: UserInfo, cluster: ClusterName) => Promise<boolean>;
  /** Whether the maximal permission policy of a claimed resource's provider allows the request. */
  readonly isAllowedByMaximalPermissionPolicy: (
    attributes: Attributes,
    providerCluster: ClusterName,
  ) => Promise<boolean>;
  /** Whether RBAC policy rules allow the request. */
  readonly isAllowedByRules: (rules: JsonValue, attributes: Attributes) => boolean;
}

/**
 * The virtual workspaces of syncers, whose kinds this package does not know: the composition root
 * supplies them.
 */
export interface SyncerVirtualWorkspaces {
  authorize(service: SyncerScope, attributes: Attributes): Promise<ServiceDecision>;
  /** Undefined for resources that are served as in the logical cluster itself. */
  catalogOf(service: SyncerScope, cluster: ClusterScope): Catalog | undefined;
}

interface VirtualWorkspaceDependencies {
  readonly dependencies: ApiSharingDependencies;
  readonly catalog: BoundResourceCatalog;
  readonly cachedResources: CachedResources;
}

interface VirtualWorkspacesOptions {
  readonly dependencies: ApiSharingDependencies;
  readonly access: VirtualWorkspaceAccess;
  readonly syncerVirtualWorkspaces: SyncerVirtualWorkspaces | undefined;
  readonly consumers: ExportConsumerIndex;
  readonly replication: ReplicationVirtualWorkspaces;
}

const granted: ServiceDecision = { allowed: true, reason: "" };
/**
 * The same message as that of the workspace content authorizer, so that a denial does not reveal
 * whether the virtual workspace exists.
 */
const refused: ServiceDecision = { allowed: false, reason: "access denied" };
const servedPath = /^\/(?:$|(?:apis?|openapi|version)(?:\/|$))/;

export class VirtualWorkspaces implements ServiceViews {
  readonly split = splitService;
  readonly #options: VirtualWorkspacesOptions;

  constructor(
    { dependencies, catalog, cachedResources }: VirtualWorkspaceDependencies,
    access: VirtualWorkspaceAccess,
    syncerViews?: (consumers: ExportConsumers) => SyncerVirtualWorkspaces,
  ) {
    const consumers = new ExportConsumerIndex({ dependencies, catalog });
    const replication = new ReplicationVirtualWorkspaces(dependencies, catalog, cachedResources);
    this.#options = {
      dependencies,
      access,
      consumers,
      replication,
      syncerVirtualWorkspaces: syncerViews?.(consumers),
    };
  }

  get consumers(): ExportConsumers {
    return this.#options.consumers;
  }

  async authorize(
    service: VirtualWorkspaceScope,
    attributes: Attributes,
  ): Promise<ServiceDecision> {
    if (!attributes.isResourceRequest && !servedPath.test(attributes.path))
      throw statusError.pathNotFound();
    await this.#options.dependencies.loading();
    switch (service.name) {
      case "apiexport":
        return this.#canUseExport(service, attributes);
      case "apiresourceschema":
        return this.#canReadSchemas(service.cluster, attributes);
      case "replication":
        return this.#options.replication.authorize(service, attributes, this.#options.access);
      case "syncer":
        return this.#syncerVirtualWorkspaces.authorize(service, attributes);
      default:
        return this.#canRunType(service.name, service.id, attributes);
    }
  }

  /**
   * The scope in which a request is served: for a schema of a consumer, the logical cluster that
   * exports it.
   */
  scopeOf(scope: RequestScope): RequestScope {
    const { kind } = scope;
    const service = virtualWorkspaceOf(scope);
    if (service?.name !== "apiresourceschema" || kind !== "resource" || scope.name === "")
      return scope;
    for (const [cluster, name] of this.#schemasOf(service.cluster))
      if (name === scope.name) return { ...scope, cluster };
    return { ...scope, cluster: service.cluster };
  }

  /**
   * The catalog of a virtual workspace; undefined for requests that are served as in the workspace
   * itself.
   */
  catalogOf(scope: RequestScope): Catalog | undefined {
    const service = virtualWorkspaceOf(scope);
    switch (service?.name) {
      case "apiexport": {
        const { cluster, export: name } = service;
        const view = this.#options.consumers.catalogOf({ cluster, name });
        if (view === undefined) throw statusError.pathNotFound();
        return view;
      }
      case "apiresourceschema":
        return this.#schemaVirtualWorkspace(service.cluster);
      case "replication":
        return this.#options.replication.catalogOf(service);
      case "syncer":
        return this.#syncerVirtualWorkspaces.catalogOf(service, scope.cluster);
      case "initializingworkspaces":
      case "terminatingworkspaces": {
        const isOwn =
          scope.cluster === "*" ||
          (scope.kind === "resource" && isLogicalClusters(scope.group, scope.resource));
        return isOwn ? lifecycleVirtualWorkspace(service.name, service.id) : undefined;
      }
      default:
        return undefined;
    }
  }

  get #syncerVirtualWorkspaces(): SyncerVirtualWorkspaces {
    const { syncerVirtualWorkspaces } = this.#options;
    if (syncerVirtualWorkspaces === undefined) throw statusError.pathNotFound();
    return syncerVirtualWorkspaces;
  }

  async #canUseExport(
    service: { readonly cluster: ClusterName; readonly export: string },
    attributes: Attributes,
  ): Promise<ServiceDecision> {
    const { access } = this.#options;
    const { user, verb } = attributes;
    // Only users with access to the export's content learn whether the export exists.
    const mayUse = await access.canUseContent(user, service.cluster, service.export, verb);
    if (!mayUse) return refused;
    const { dependencies } = this.#options;
    const record = await exportIn(dependencies, service.cluster, service.export);
    if (record === undefined) return refused;
    if (!(await this.#isBoundApi(record, attributes))) return refused;
    return (await this.#isWithinPolicy(record, attributes)) ? granted : refused;
  }

  /** In a single workspace a binding to the export must exist, and cover the requested resource. */
  async #isBoundApi(record: ExportRecord, attributes: Attributes): Promise<boolean> {
    const { cluster, group, resource, verb } = attributes;
    if (cluster === "*") return true;
    // A system export counts as bound in every existing logical cluster.
    if (isSystemExport(record.cluster, record.name))
      return (await this.#read(keyOf(logicalClusters, cluster, "cluster"))) !== undefined;
    const { bindings } = this.#options.dependencies;
    const found = [...bindingsTo(bindings, cluster, record)];
    if (found.length === 0) return false;
    if (!attributes.isResourceRequest) return true;
    const isServed = found.some(({ bound }) =>
      bound.some((one) => one.resource === resource && one.group === group),
    );
    if (isServed) return true;
    const isOwnBinding = resource === apiBindings.resource && group === apiBindings.group;
    if (isOwnBinding && ["get", "list", "watch"].includes(verb)) return true;
    const verbs = acceptedClaimIn(bindings, cluster, record, { group, resource })?.verbs ?? [];
    return verbs.includes(verb) || verbs.includes("*");
  }

  async #isWithinPolicy(record: ExportRecord, attributes: Attributes): Promise<boolean> {
    const { group, resource } = attributes;
    const claim = record.claims.find((one) => one.resource === resource && one.group === group);
    if (claim === undefined || claim.identityHash === "") return true;
    if (record.resources.some((one) => one.resource === resource && one.group === group))
      return true;
    let isKnown = false;
    for (const provider of this.#options.dependencies.exports.values()) {
      if (provider.identityHash !== claim.identityHash) continue;
      isKnown = true;
      if (!provider.hasPolicy) continue;
      if (
        !(await this.#options.access.isAllowedByMaximalPermissionPolicy(
          attributes,
          provider.cluster,
        ))
      )
        return false;
    }
    return isKnown;
  }

  async #canReadSchemas(cluster: ClusterName, attributes: Attributes): Promise<ServiceDecision> {
    if (!(await this.#options.access.canReadBindings(attributes.user, cluster))) return refused;
    if (!attributes.isResourceRequest || ["get", "list", "watch"].includes(attributes.verb))
      return granted;
    return { allowed: false, reason: "only read-only access is allowed to apiresourceschemas" };
  }

  /** The schemas of a logical cluster's bindings, and the current schemas of their exports. */
  *#schemasOf(consumer: ClusterName): Generator<readonly [ClusterName, string]> {
    const { bindings, exportOf } = this.#options.dependencies;
    for (const binding of bindings.inCluster(consumer)?.records.values() ?? []) {
      const { exportCluster = consumer, bound } = binding;
      for (const { schemaName } of bound) yield [exportCluster, schemaName];
      for (const { schema } of exportOf(binding)?.resources ?? []) yield [exportCluster, schema];
    }
  }

  #schemaVirtualWorkspace(consumer: ClusterName): Catalog {
    const used = new Set<string>();
    for (const [cluster, name] of this.#schemasOf(consumer)) used.add(`${cluster}/${name}`);
    const definition = new RestrictedDefinition(apiResourceSchemas, {
      verbs: ["get", "list", "watch"],
      isVisible: ({ key }) => {
        const { cluster, name } = parseObjectKey(key);
        return used.has(`${cluster}/${name}`);
      },
    });
    return {
      find: (_cluster, group, version, resource) =>
        group === definition.group &&
        version === definition.version &&
        resource === definition.resource
          ? definition
          : undefined,
      all: async () => [definition],
    };
  }

  async #canRunType(
    service: LifecycleService,
    id: string,
    attributes: Attributes,
  ): Promise<ServiceDecision> {
    const { verb, lifecycleName } = lifecycles[service];
    const at = id.lastIndexOf(":");
    const [typeCluster, typeName] = [id.slice(0, at) as ClusterName, id.slice(at + 1)];
    // Members of system:masters may also view identifiers without a type: those of the system, and
    // unknown ones.
    const mayRun =
      isSystemMaster(attributes.user) ||
      (at > 0 &&
        !id.startsWith("system:") &&
        (await this.#options.access.canRunType(attributes.user, typeCluster, typeName, verb)));
    if (!mayRun) return refused;
    const { cluster, group, resource } = attributes;
    if (cluster === "*") return granted;
    if (attributes.isResourceRequest && isLogicalClusters(group, resource)) return granted;
    const logicalCluster = await this.#waiting(service, id, cluster);
    if (logicalCluster === undefined)
      return { allowed: false, reason: `${lifecycleName} "${id}" cannot access this workspace` };
    return this.#actingIn(service, id, {
      attributes,
      cluster,
      logicalCluster,
      typeCluster,
      typeName,
    });
  }

  /** The LogicalCluster, if it waits for this identifier. */
  async #waiting(
    service: LifecycleService,
    id: string,
    cluster: ClusterName,
  ): Promise<JsonObject | undefined> {
    const { list, phase } = lifecycles[service];
    const object = await this.#read(keyOf(logicalClusters, cluster, "cluster"));
    const status = member(object ?? {}, "status");
    const isWaiting = status["phase"] === phase && listOf(status[list]).includes(id);
    return isWaiting ? object : undefined;
  }

  async #actingIn(
    service: LifecycleService,
    id: string,
    at: {
      readonly attributes: Attributes;
      readonly cluster: ClusterName;
      readonly logicalCluster: JsonObject;
      readonly typeCluster: ClusterName;
      readonly typeName: string;
    },
  ): Promise<ServiceDecision> {
    const { lifecycleName, permissions } = lifecycles[service];
    const { attributes, cluster, logicalCluster, typeCluster, typeName } = at;
    const type = await this.#typeOf(typeCluster, typeName);
    if (type === undefined) throw statusError.unavailable("the WorkspaceType cannot be looked up");
    const rules = listOf(member(type, "spec")[permissions]);
    if (rules.length > 0) {
      if (this.#options.access.isAllowedByRules([...rules], attributes)) {
        const groups = [...attributes.user.groups, `system:kcp:${lifecycleName}:${id}`];
        return { ...granted, actAs: { ...attributes.user, groups } };
      }
      const { verb, group, resource } = attributes;
      const what = attributes.isResourceRequest ? `${group}/${resource}` : attributes.path;
      return {
        allowed: false,
        reason: `${lifecycleName} "${id}" denied by ${permissions}: no rule allows ${verb} on ${what}`,
      };
    }
    const creator = creatorOf(logicalCluster, cluster);
    if (creator === undefined)
      throw statusError.internal(`LogicalCluster ${cluster}|cluster had no createdBy recorded`);
    return { ...granted, actAs: creator, isOpen: true };
  }

  async #typeOf(cluster: ClusterName, name: string): Promise<JsonObject | undefined> {
    const { replicas } = this.#options.dependencies;
    if (replicas === undefined || replicas.shardOf(cluster) === undefined)
      return this.#read(keyOf(workspaceTypes, cluster, name));
    const entry = await replicas.get(workspaceTypes, cluster, name);
    return entry && decodeObject(entry);
  }

  async #read(key: ReturnType<typeof keyOf>): Promise<JsonObject | undefined> {
    const { watchCache } = this.#options.dependencies;
    const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
    return entry === undefined ? undefined : decodeObject(entry);
  }
}

/**
 * The creator of the workspace, scoped to this workspace. The user behind the controller must not
 * gain permissions in other workspaces through the creator: the request does not run as a member of
 * system:masters, with other global groups, or with a warrant, which applies to any cluster that it
 * names.
 */
function creatorOf(logicalCluster: JsonObject, cluster: ClusterName): UserInfo | undefined {
  const { username, groups, extra } = member(member(logicalCluster, "spec"), "createdBy");
  const known = listOf(groups).map(textOf);
  if (typeof username !== "string" || known.includes(wellKnownGroup.masters)) return undefined;
  const { [warrantKey]: _, ...extras } = (extra ?? {}) as Record<string, readonly string[]>;
  return {
    username,
    groups: known.filter((group) => !isPrivilegedGroup(group)),
    extra: { ...extras, [scopesKey]: [...(extras[scopesKey] ?? []), `cluster:${cluster}`] },
  };
}
