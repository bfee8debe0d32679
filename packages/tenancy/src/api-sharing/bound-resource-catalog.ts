/**
 * Serves the bound resources of a logical cluster in addition to built-in kinds and CRDs; bound
 * resources come before the cluster's own CRDs.
 *
 * `<resource>:<identity>` names the resource of one provider among several of the same name; only
 * this form reads a bound resource in all logical clusters at once.
 */
import {
  type Conversion,
  CustomDefinition,
  type SharedDefinition,
} from "@kcp-ts/apiserver/custom-resources";
import type {
  Catalog,
  CollectionKey,
  CollectionSource,
  ResourceDefinition,
} from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { ClusterScope } from "@kcp-ts/apiserver/request/request-scope";
import type { Revision } from "@kcp-ts/apiserver/storage";
import { InternPool } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { compareVersionPriority } from "@kcp-ts/machinery/schema";
import { statusError } from "@kcp-ts/machinery/status";
import type { ServedResource } from "./binding-index.ts";
import { readVerbs } from "./cached-resources/cached-definition.ts";
import type { CachedResources } from "./cached-resources/cached-resources.ts";
import type { ApiSharingDependencies } from "./dependencies.ts";
import type { ExportedResource, ExportRecord } from "./records.ts";
import type { StoredSchema } from "./schema-store.ts";
import { isSystemExport, systemIdentity } from "./system-exports.ts";
import { RestrictedDefinition } from "./virtual-workspaces/restricted-definition.ts";

const terminatingReason = "create not allowed while the APIBinding is being deleted";

export const revisionNever = Number.MAX_SAFE_INTEGER as Revision;

export interface BoundResourceCatalogOptions extends ApiSharingDependencies {
  /** The catalog of built-in kinds and custom resources. */
  readonly inner: Catalog & CollectionSource;
  readonly conversion: Conversion;
  readonly cachedResources: Pick<CachedResources, "definitionOf" | "sourceOf">;
}

export class BoundResourceCatalog implements Catalog, CollectionSource {
  readonly #options: BoundResourceCatalogOptions;
  readonly #definitions = new WeakMap<ServedResource, Map<string, CustomDefinition>>();
  readonly #lists = new InternPool<readonly ResourceDefinition[]>();
  readonly #listIds = new WeakMap<readonly ResourceDefinition[], number>();
  #lastListId = 0;

  constructor(options: BoundResourceCatalogOptions) {
    this.#options = options;
  }

  find(
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): MaybePromise<ResourceDefinition | undefined> {
    const { inner, bindings } = this.#options;
    const colon = resource.indexOf(":");
    if (colon >= 0) {
      const identity = resource.slice(colon + 1);
      if (identity === "")
        throw statusError.internal(
          `invalid resource ${JSON.stringify(resource)}: missing identity`,
        );
      const plain = resource.slice(0, colon);
      if (systemIdentity(this.#options, group, plain) === identity)
        return inner.find(cluster, group, version, plain);
      if (cluster === "*") return this.#wildcardDefinition(group, version, plain, identity);
      return this.#bound(cluster, group, version, plain, identity);
    }
    if (cluster === "*") return inner.find(cluster, group, version, resource);
    const bound = bindings.isEmpty
      ? undefined
      : this.#bound(cluster, group, version, resource, undefined);
    if (bound !== undefined) return bound;
    const found = inner.find(cluster, group, version, resource);
    if (!(found instanceof Promise)) return found;
    // At this point the server has seen every write that any server acknowledged.
    return found.then(
      (definition) => definition ?? this.#bound(cluster, group, version, resource, undefined),
    );
  }

  collectionOf(
    cluster: ClusterName,
    group: string,
    version: string,
    resource: string,
  ): CollectionKey | undefined {
    const { inner, bindings } = this.#options;
    const colon = resource.indexOf(":");
    const plain = colon < 0 ? resource : resource.slice(0, colon);
    const served = bindings.inCluster(cluster)?.find(group, plain);
    if (served === undefined) return inner.collectionOf(cluster, group, version, resource);
    return { group, resource: plain, identity: served.bound.identityHash };
  }

  async all(cluster: ClusterScope): Promise<readonly ResourceDefinition[]> {
    const { inner, bindings, schemas } = this.#options;
    const list = await inner.all(cluster);
    const served = cluster === "*" ? undefined : bindings.inCluster(cluster)?.served;
    if (served === undefined || served.size === 0) return list;
    const shared: ListedDefinition[] = [];
    for (const { bound, binding } of served.values()) {
      const { schemaUid, schemaName } = bound;
      const schema = await schemas.get(schemaUid, exportClusterOf(binding), schemaName);
      if (schema === undefined) continue;
      const exported = bound.isVirtual ? this.#options.exportOf(binding) : undefined;
      const virtualVersion = exported && (await this.virtualVersion(exported, bound));
      // Resources that cannot be read are not in discovery: clients that list all resources would
      // fail.
      if (bound.isVirtual && virtualVersion === undefined) continue;
      shared.push({ definition: formOf(schema, binding.isDeleted), virtualVersion });
    }
    return this.#list(list, shared);
  }

  /** The definition of a resource that a binding serves; undefined when it has no such version. */
  definitionOf(
    served: ServedResource,
    version: string,
  ): MaybePromise<ResourceDefinition | undefined> {
    if (served.bound.isVirtual) return this.#options.cachedResources.definitionOf(served, version);
    const known = this.#definitions.get(served)?.get(version);
    if (known === undefined) return this.#createDefinition(served, version);
    // A version that takes long to compile is compiled before it is used.
    return known.shared.warmUp()?.then(() => known) ?? known;
  }

  async #createDefinition(
    served: ServedResource,
    version: string,
  ): Promise<CustomDefinition | undefined> {
    const { bound, binding, boundAt, retirement } = served;
    const { schemaUid, schemaName } = bound;
    const schema = await this.#options.schemas.get(schemaUid, exportClusterOf(binding), schemaName);
    if (schema === undefined)
      throw statusError.unavailable(`${bound.resource}.${bound.group} is currently unavailable`);
    const shared = formOf(schema, binding.isDeleted).version(version);
    if (shared?.isServed !== true) return undefined;
    const isReshaped = this.#options.exportOf(binding)?.hasChangedSchemas !== false;
    const definition = new CustomDefinition({
      terminatingReason,
      version: shared,
      identity: bound.identityHash,
      since: isReshaped ? boundAt : (0 as Revision),
      conversion: this.#options.conversion,
      owner: exportClusterOf(binding),
      onRetired: retirement.onRetired,
    });
    const known = this.#definitions.get(served) ?? new Map<string, CustomDefinition>();
    known.set(version, known.get(version) ?? definition);
    this.#definitions.set(served, known);
    await definition.shared.warmUp();
    return known.get(version);
  }

  #bound(
    cluster: ClusterName,
    group: string,
    version: string,
    resource: string,
    identity: string | undefined,
  ): MaybePromise<ResourceDefinition | undefined> {
    const { loading, bindings } = this.#options;
    const pending = loading();
    if (pending !== undefined)
      return pending.then(() => this.#bound(cluster, group, version, resource, identity));
    const served = bindings.inCluster(cluster)?.find(group, resource);
    if (served === undefined) return undefined;
    if (identity !== undefined && served.bound.identityHash !== identity) return undefined;
    return this.definitionOf(served, version);
  }

  async #wildcardDefinition(
    group: string,
    version: string,
    resource: string,
    identity: string,
  ): Promise<ResourceDefinition | undefined> {
    for (const record of this.#options.exports.values()) {
      if (record.identityHash !== identity) continue;
      const definition = await this.exported(record, group, version, resource);
      if (definition !== undefined) return definition;
    }
    return undefined;
  }

  /** A resource with the current schema of its export, for reads in all logical clusters. */
  async exported(
    record: ExportRecord,
    group: string,
    version: string,
    resource: string,
  ): Promise<ResourceDefinition | undefined> {
    const wanted = record.resources.find(
      (one) => one.resource === resource && one.group === group && one.virtual === undefined,
    );
    if (wanted === undefined || record.identityHash === "") return undefined;
    if (isSystemExport(record.cluster, record.name))
      return this.#options.inner.find("*", group, version, resource);
    const schema = await this.#options.schemas.current(record.cluster, wanted.schema);
    const shared = schema?.shared.version(version);
    if (shared?.isServed !== true) return undefined;
    return new CustomDefinition({
      terminatingReason,
      version: shared,
      identity: record.identityHash,
      // Consumers that are bound to an earlier schema may still write objects of that schema.
      since: record.hasChangedSchemas ? revisionNever : (0 as Revision),
      conversion: this.#options.conversion,
      owner: record.cluster,
      onRetired: (callback) => this.#options.onExportChanged(record, callback),
    });
  }

  /** The version of a resource with virtual storage; undefined when it cannot be read. */
  async virtualVersion(
    exported: ExportRecord,
    { group, resource }: { readonly group: string; readonly resource: string },
  ): Promise<string | undefined> {
    const offered = exported.resources.find(
      (one) => one.resource === resource && one.group === group,
    );
    const source = offered && (await this.#options.cachedResources.sourceOf(exported, offered));
    return source?.definition.version;
  }

  /** The definitions of a resource with virtual storage, as discovery lists them. */
  async virtualDefinitions(
    exported: ExportRecord,
    offered: ExportedResource,
  ): Promise<readonly ResourceDefinition[]> {
    const virtualVersion = await this.virtualVersion(exported, offered);
    if (virtualVersion === undefined) return [];
    const schema = await this.#options.schemas.current(exported.cluster, offered.schema);
    return schema === undefined
      ? []
      : listedVersions({ definition: schema.shared, virtualVersion });
  }

  #list(
    inner: readonly ResourceDefinition[],
    shared: readonly ListedDefinition[],
  ): readonly ResourceDefinition[] {
    let id = this.#listIds.get(inner);
    if (id === undefined) {
      id = ++this.#lastListId;
      this.#listIds.set(inner, id);
    }
    const contents = shared
      .map(
        ({ definition: { content, isTerminating }, virtualVersion = "" }) =>
          `${content}${isTerminating}${virtualVersion}`,
      )
      .sort();
    return this.#lists.get(`${id} ${contents.join(" ")}`, () => [
      ...inner,
      ...shared.flatMap(listedVersions).sort(inDiscoveryOrder),
    ]);
  }
}

export function exportClusterOf({
  exportCluster,
  cluster,
}: {
  readonly exportCluster: ClusterName | undefined;
  readonly cluster: ClusterName;
}): ClusterName {
  return exportCluster ?? cluster;
}

function formOf(schema: StoredSchema, isTerminating: boolean): SharedDefinition {
  return isTerminating ? schema.terminating() : schema.shared;
}

interface ListedDefinition {
  readonly definition: SharedDefinition;
  /** Set for resources with virtual storage, which are served in one version. */
  readonly virtualVersion: string | undefined;
}

function listedVersions({
  definition,
  virtualVersion,
}: ListedDefinition): readonly ResourceDefinition[] {
  if (virtualVersion === undefined) return definition.versions;
  return definition.versions
    .filter(({ version }) => version === virtualVersion)
    .map((version) => new RestrictedDefinition(version, { verbs: readVerbs }));
}

function inDiscoveryOrder(a: ResourceDefinition, b: ResourceDefinition): number {
  if (a.group !== b.group) return a.group < b.group ? -1 : 1;
  const byVersion = compareVersionPriority(a.version, b.version);
  if (byVersion !== 0) return byVersion;
  return a.resource < b.resource ? -1 : a.resource > b.resource ? 1 : 0;
}
