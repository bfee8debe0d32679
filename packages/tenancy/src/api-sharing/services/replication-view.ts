/**
 * The virtual workspace of a ClusterCachedResourceEndpointSlice: the one resource that an export has by it, in a workspace of a consumer, as that
 * workspace itself serves it.
 */

import type { ServiceDecision } from "@kcp-ts/apiserver";
import type { Catalog } from "@kcp-ts/apiserver/registry";
import type { Attributes } from "@kcp-ts/apiserver/request/attributes";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { readVerbs } from "../cached-resources/cached-definition.ts";
import type { CachedResources } from "../cached-resources/cached-resources.ts";
import { resourceServedBy } from "../cached-resources/records.ts";
import type { ApiSharingDependencies } from "../parts.ts";
import type { ExportedResource, ExportRecord } from "../records.ts";
import type { BoundResourceCatalog } from "../sharing-catalog.ts";
import type { ReplicationScope } from "./virtual-workspace-scope.ts";
import type { VirtualWorkspaceAccess } from "./virtual-workspaces.ts";

interface ReplicatedResource {
  readonly exported: ExportRecord;
  readonly resource: ExportedResource;
}

export class ReplicationVirtualWorkspaces {
  readonly #parts: ApiSharingDependencies;
  readonly #catalog: BoundResourceCatalog;
  readonly #cached: CachedResources;

  constructor(
    parts: ApiSharingDependencies,
    catalog: BoundResourceCatalog,
    cached: CachedResources,
  ) {
    this.#parts = parts;
    this.#catalog = catalog;
    this.#cached = cached;
  }

  async authorize(
    scope: ReplicationScope,
    attributes: Attributes,
    access: Pick<VirtualWorkspaceAccess, "mayUseContent">,
  ): Promise<ServiceDecision> {
    const { user, verb, cluster, group, resource } = attributes;
    if (!readVerbs.includes(verb))
      return {
        allowed: false,
        reason: "write access to Replication virtual workspace is not allowed",
      };
    const offer = await this.#offerOf(scope);
    // Asked alike whether there is such a slice or not: nobody learns by waiting what there is.
    const { cluster: exportCluster, name } = offer?.exported ?? {
      cluster: scope.cluster,
      name: scope.slice,
    };
    const mayUse = await access.mayUseContent(user, exportCluster, name, verb);
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
    await this.#cached.loading;
    const slice = this.#cached.slice(cluster, name);
    const exported = slice && (await this.#cached.exportOf(slice));
    // An export refers to slices beside it.
    if (exported === undefined || exported.cluster !== cluster) return undefined;
    const resource = resourceServedBy(exported, name);
    return resource && { exported, resource };
  }

  /** What a binding to the export serves in a workspace of a consumer, if it is what is offered. */
  #served(
    cluster: ClusterName,
    { exported, resource: offered }: ReplicatedResource,
    group: string,
    resource: string,
  ) {
    if (offered.group !== group || offered.resource !== resource) return undefined;
    const served = this.#parts.bindings.in(cluster)?.find(group, resource);
    if (served === undefined || this.#parts.exportOf(served.binding)?.uid !== exported.uid)
      return undefined;
    return served.bound.isVirtual ? served : undefined;
  }
}

const granted: ServiceDecision = { allowed: true, reason: "" };
/** In the words of the gate of workspaces. */
const refused: ServiceDecision = { allowed: false, reason: "access denied" };
