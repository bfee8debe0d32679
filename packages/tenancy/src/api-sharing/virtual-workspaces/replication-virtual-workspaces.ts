/**
 * The virtual workspace of a ClusterCachedResourceEndpointSlice: the one resource that an export
 * serves through the slice, in a consumer's workspace, as that workspace itself serves it.
 */
import type { ServiceDecision } from "@kcp-ts/apiserver";
import type { Catalog } from "@kcp-ts/apiserver/registry";
import type { Attributes } from "@kcp-ts/apiserver/request/attributes";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { BoundResourceCatalog } from "../bound-resource-catalog.ts";
import { readVerbs } from "../cached-resources/cached-definition.ts";
import type { CachedResources } from "../cached-resources/cached-resources.ts";
import { resourceServedBy } from "../cached-resources/records.ts";
import type { ApiSharingDependencies } from "../dependencies.ts";
import type { ExportedResource, ExportRecord } from "../records.ts";
import type { ReplicationScope } from "./virtual-workspace-scope.ts";
import type { VirtualWorkspaceAccess } from "./virtual-workspaces.ts";

interface ReplicatedResource {
  readonly exported: ExportRecord;
  readonly resource: ExportedResource;
}

export class ReplicationVirtualWorkspaces {
  readonly #dependencies: ApiSharingDependencies;
  readonly #catalog: BoundResourceCatalog;
  readonly #cachedResources: CachedResources;

  constructor(
    dependencies: ApiSharingDependencies,
    catalog: BoundResourceCatalog,
    cached: CachedResources,
  ) {
    this.#dependencies = dependencies;
    this.#catalog = catalog;
    this.#cachedResources = cached;
  }

  async authorize(
    scope: ReplicationScope,
    attributes: Attributes,
    access: Pick<VirtualWorkspaceAccess, "canUseContent">,
  ): Promise<ServiceDecision> {
    const { user, verb, cluster, group, resource } = attributes;
    if (!readVerbs.includes(verb))
      return {
        allowed: false,
        reason: "write access to Replication virtual workspace is not allowed",
      };
    const offer = await this.#offerOf(scope);
    // Authorized in the same way whether the slice exists or not, so that the latency does not
    // reveal its existence.
    const { cluster: exportCluster, name } = offer?.exported ?? {
      cluster: scope.cluster,
      name: scope.slice,
    };
    const mayUse = await access.canUseContent(user, exportCluster, name, verb);
    if (!mayUse || offer === undefined) return refused;
    if (cluster === "*") return granted;
    const isBound = attributes.isResourceRequest
      ? this.#served(cluster, offer, group, resource) !== undefined
      : this.#served(cluster, offer, offer.resource.group, offer.resource.resource) !== undefined;
    return isBound ? granted : refused;
  }

  catalogOf(scope: ReplicationScope): Catalog {
    return {
      find: async (cluster, group, version, resource) => {
        const offer = await this.#offerOf(scope);
        if (offer === undefined) return undefined;
        if (cluster === "*") throw statusError.badRequest("Wildcard request not supported");
        const served = this.#served(cluster, offer, group, resource);
        return served && this.#catalog.definitionOf(served, version);
      },
      all: async () => {
        const offer = await this.#offerOf(scope);
        return offer === undefined
          ? []
          : this.#catalog.virtualDefinitions(offer.exported, offer.resource);
      },
    };
  }

  async #offerOf({
    cluster,
    slice: name,
  }: ReplicationScope): Promise<ReplicatedResource | undefined> {
    await this.#cachedResources.loading;
    const slice = this.#cachedResources.slice(cluster, name);
    const exported = slice && (await this.#cachedResources.exportOf(slice));
    // An export references only slices of its own workspace.
    if (exported === undefined || exported.cluster !== cluster) return undefined;
    const resource = resourceServedBy(exported, name);
    return resource && { exported, resource };
  }

  /**
   * The resource that a binding of the export serves in a consumer's workspace, if the slice serves
   * it.
   */
  #served(
    cluster: ClusterName,
    { exported, resource: offered }: ReplicatedResource,
    group: string,
    resource: string,
  ) {
    if (offered.group !== group || offered.resource !== resource) return undefined;
    const served = this.#dependencies.bindings.inCluster(cluster)?.find(group, resource);
    if (served === undefined || this.#dependencies.exportOf(served.binding)?.uid !== exported.uid)
      return undefined;
    return served.bound.isVirtual ? served : undefined;
  }
}

const granted: ServiceDecision = { allowed: true, reason: "" };
/** The same message as that of the workspace content authorizer. */
const refused: ServiceDecision = { allowed: false, reason: "access denied" };
