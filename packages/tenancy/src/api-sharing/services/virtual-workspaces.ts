/**
 * Virtual workspaces: who may use which, as whom, and what there is in it. Their requests go through the same handlers as all others.
 */

import type { ServiceDecision, ServiceViews } from "@kcp-ts/apiserver";
import type { Catalog } from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
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
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { logicalClusters, member, uncancelled, workspaceTypes } from "../../workspaces/index.ts";
import type { CachedResources } from "../cached-resources/cached-resources.ts";
import { acceptedClaimIn, bindingsTo } from "../claims.ts";
import { listOf, textOf } from "../kinds/as-definition.ts";
import { apiBindings, apiExports, apiResourceSchemas } from "../kinds/definitions.ts";
import { type ApiSharingDependencies, keyOf } from "../parts.ts";
import type { ExportRecord } from "../records.ts";
import type { BoundResourceCatalog } from "../sharing-catalog.ts";
import { isSystemExport } from "../system-exports.ts";
import { ExportConsumerIndex, type ExportConsumers } from "./export-consumers.ts";
import {
  isLogicalClusters,
  type LifecycleService,
  lifecycles,
  lifecycleVirtualWorkspace,
} from "./lifecycle-view.ts";
import { ReplicationVirtualWorkspaces } from "./replication-view.ts";
import { RestrictedDefinition } from "./restricted-definition.ts";
import { splitService } from "./split-service.ts";
import {
  type SyncerScope,
  type VirtualWorkspaceScope,
  virtualWorkspaceOf,
} from "./virtual-workspace-scope.ts";

/** What authorization is asked by virtual workspaces; wiring supplies it. */
export interface VirtualWorkspaceAccess {
  /** Any verb on the `content` of an export. */
  readonly mayUseContent: (
    user: UserInfo,
    exportCluster: ClusterName,
    exportName: string,
    verb: string,
  ) => MaybePromise<boolean>;
  readonly mayRunType: (
    user: UserInfo,
    cluster: ClusterName,
    type: string,
    verb: string,
  ) => MaybePromise<boolean>;
  readonly mayReadBindings: (user: UserInfo, cluster: ClusterName) => MaybePromise<boolean>;
  /** Whether the provider of a claimed resource lets others do this with it. */
  readonly isWithinPolicy: (
    attributes: Attributes,
    providerCluster: ClusterName,
  ) => MaybePromise<boolean>;
  /** Whether rules, as roles have them, allow this. */
  readonly doRulesAllow: (rules: JsonValue, attributes: Attributes) => boolean;
}

/** The virtual workspaces of syncers, which know kinds that this package does not: whoever composes the server supplies them. */
export interface SyncerVirtualWorkspaces {
  authorize(service: SyncerScope, attributes: Attributes): MaybePromise<ServiceDecision>;
  /** Undefined for what is served as in the logical cluster itself. */
  catalogOf(service: SyncerScope, cluster: ClusterScope): Catalog | undefined;
}

interface VirtualWorkspaceDependencies {
  readonly parts: ApiSharingDependencies;
  readonly catalog: BoundResourceCatalog;
  readonly cached: CachedResources;
}

interface VirtualWorkspacesOptions {
  readonly parts: ApiSharingDependencies;
  readonly access: VirtualWorkspaceAccess;
  readonly syncerViews: SyncerVirtualWorkspaces | undefined;
  readonly consumers: ExportConsumerIndex;
  readonly replication: ReplicationVirtualWorkspaces;
}

const granted: ServiceDecision = { allowed: true, reason: "" };
/** In the words of the gate of workspaces: nobody learns whether there is something to refuse. */
const refused: ServiceDecision = { allowed: false, reason: "access denied" };
const servedPath = /^\/(?:$|(?:apis?|openapi|version)(?:\/|$))/;

export class VirtualWorkspaces implements ServiceViews {
  readonly split = splitService;
  readonly #options: VirtualWorkspacesOptions;

  constructor(
    { parts, catalog, cached }: VirtualWorkspaceDependencies,
    access: VirtualWorkspaceAccess,
    syncerViews?: (consumers: ExportConsumers) => SyncerVirtualWorkspaces,
  ) {
    const consumers = new ExportConsumerIndex({ parts, catalog });
    const replication = new ReplicationVirtualWorkspaces(parts, catalog, cached);
    this.#options = {
      ...{ parts, access, consumers, replication, syncerViews: syncerViews?.(consumers) },
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
    await this.#options.parts.loading();
    switch (service.name) {
      case "apiexport":
        return this.#mayUseExport(service, attributes);
      case "apiresourceschema":
        return this.#mayReadSchemas(service.cluster, attributes);
      case "replication":
        return this.#options.replication.authorize(service, attributes, this.#options.access);
      case "syncer":
        return this.#syncerViews.authorize(service, attributes);
      default:
        return this.#mayRun(service.name, service.id, attributes);
    }
  }

  /** Where a request is served: one schema of a consumer, in the logical cluster that exports it. */
  scopeOf(scope: RequestScope): RequestScope {
    const { kind } = scope;
    const service = virtualWorkspaceOf(scope);
    if (service?.name !== "apiresourceschema" || kind !== "resource" || scope.name === "")
      return scope;
    for (const [cluster, name] of this.#schemasOf(service.cluster))
      if (name === scope.name) return { ...scope, cluster };
    return { ...scope, cluster: service.cluster };
  }

  /** What is served. Undefined for what is served as in the workspace itself. */
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
        return this.#schemaView(service.cluster);
      case "replication":
        return this.#options.replication.catalogOf(service);
      case "syncer":
        return this.#syncerViews.catalogOf(service, scope.cluster);
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

  get #syncerViews(): SyncerVirtualWorkspaces {
    const { syncerViews } = this.#options;
    if (syncerViews === undefined) throw statusError.pathNotFound();
    return syncerViews;
  }

  #exportOf(service: { readonly cluster: ClusterName; readonly export: string }) {
    return this.#options.parts.exports.get(keyOf(apiExports, service.cluster, service.export));
  }

  async #mayUseExport(
    service: { readonly cluster: ClusterName; readonly export: string },
    attributes: Attributes,
  ): Promise<ServiceDecision> {
    const { access } = this.#options;
    const { user, verb } = attributes;
    // Whether there is such an export is known only to those who may use it.
    const mayUse = await access.mayUseContent(user, service.cluster, service.export, verb);
    const record = this.#exportOf(service);
    if (!mayUse || record === undefined) return refused;
    if (!(await this.#isBoundApi(record, attributes))) return refused;
    return (await this.#isWithinPolicy(record, attributes)) ? granted : refused;
  }

  /** In a workspace by itself there must be a binding to the export, and it must cover what is asked. */
  async #isBoundApi(record: ExportRecord, attributes: Attributes): Promise<boolean> {
    const { cluster, group, resource, verb } = attributes;
    if (cluster === "*") return true;
    // What is served everywhere is bound wherever there is a logical cluster.
    if (isSystemExport(record.cluster, record.name))
      return (await this.#read(keyOf(logicalClusters, cluster, "cluster"))) !== undefined;
    const { bindings } = this.#options.parts;
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
    for (const provider of this.#options.parts.exports.values()) {
      if (provider.identityHash !== claim.identityHash) continue;
      isKnown = true;
      if (!provider.hasPolicy) continue;
      if (!(await this.#options.access.isWithinPolicy(attributes, provider.cluster))) return false;
    }
    return isKnown;
  }

  async #mayReadSchemas(cluster: ClusterName, attributes: Attributes): Promise<ServiceDecision> {
    if (!(await this.#options.access.mayReadBindings(attributes.user, cluster))) return refused;
    if (!attributes.isResourceRequest || ["get", "list", "watch"].includes(attributes.verb))
      return granted;
    return { allowed: false, reason: "only read-only access is allowed to apiresourceschemas" };
  }

  /** The schemas that bindings of a logical cluster are bound to, and those that their exports have by now. */
  *#schemasOf(consumer: ClusterName): Generator<readonly [ClusterName, string]> {
    const { bindings, exportOf } = this.#options.parts;
    for (const binding of bindings.in(consumer)?.records.values() ?? []) {
      const { exportCluster = consumer, bound } = binding;
      for (const { schemaName } of bound) yield [exportCluster, schemaName];
      for (const { schema } of exportOf(binding)?.resources ?? []) yield [exportCluster, schema];
    }
  }

  #schemaView(consumer: ClusterName): Catalog {
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
      all: () => [definition],
    };
  }

  async #mayRun(
    service: LifecycleService,
    id: string,
    attributes: Attributes,
  ): Promise<ServiceDecision> {
    const { verb, word } = lifecycles[service];
    const at = id.lastIndexOf(":");
    const [typeCluster, typeName] = [id.slice(0, at) as ClusterName, id.slice(at + 1)];
    // Masters also look at what belongs to no type: identifiers of the system, and those of nobody.
    const mayRun =
      isSystemMaster(attributes.user) ||
      (at > 0 &&
        !id.startsWith("system:") &&
        (await this.#options.access.mayRunType(attributes.user, typeCluster, typeName, verb)));
    if (!mayRun) return refused;
    const { cluster, group, resource } = attributes;
    if (cluster === "*") return granted;
    if (attributes.isResourceRequest && isLogicalClusters(group, resource)) return granted;
    const logicalCluster = await this.#waiting(service, id, cluster);
    if (logicalCluster === undefined)
      return { allowed: false, reason: `${word} "${id}" cannot access this workspace` };
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
    const { word, permissions } = lifecycles[service];
    const { attributes, cluster, logicalCluster, typeCluster, typeName } = at;
    const type = await this.#read(keyOf(workspaceTypes, typeCluster, typeName));
    if (type === undefined) throw statusError.unavailable("the WorkspaceType cannot be looked up");
    const rules = listOf(member(type, "spec")[permissions]);
    if (rules.length > 0) {
      if (this.#options.access.doRulesAllow([...rules], attributes)) {
        const groups = [...attributes.user.groups, `system:kcp:${word}:${id}`];
        return { ...granted, actAs: { ...attributes.user, groups } };
      }
      const { verb, group, resource } = attributes;
      const what = attributes.isResourceRequest ? `${group}/${resource}` : attributes.path;
      return {
        allowed: false,
        reason: `${word} "${id}" denied by ${permissions}: no rule allows ${verb} on ${what}`,
      };
    }
    const creator = creatorOf(logicalCluster, cluster);
    if (creator === undefined)
      throw statusError.internal(`LogicalCluster ${cluster}|cluster had no createdBy recorded`);
    return { ...granted, actAs: creator, isOpen: true };
  }

  async #read(key: ReturnType<typeof keyOf>): Promise<JsonObject | undefined> {
    const { watchCache } = this.#options.parts;
    const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
    return entry === undefined ? undefined : decodeObject(entry);
  }
}

/**
 * Who made the workspace; in it, and nowhere else. Whoever is behind the controller must not get power over other workspaces by them: nobody acts as
 * a member of system:masters, by other groups with such power, or by a warrant, which holds wherever it says.
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
