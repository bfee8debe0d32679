/**
 * The consumers of an export, for virtual workspaces of other packages: their bound resources, and
 * their accepted claims.
 */
import type { Catalog } from "@kcp-ts/apiserver/registry";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { BoundResourceCatalog } from "../bound-resource-catalog.ts";
import { acceptedClaimIn, bindingsTo } from "../claims.ts";
import { type ApiSharingDependencies, keyOf } from "../dependencies.ts";
import { apiExports } from "../kinds/definitions.ts";
import type { ExportRecord } from "../records.ts";
import { ApiExportVirtualWorkspace } from "./api-export-virtual-workspace.ts";

/** An export and its workspace. */
export interface ExportReference {
  readonly cluster: ClusterName;
  readonly name: string;
}

export interface ExportConsumers {
  /**
   * The resources of an export as its consumers serve them, in one of them or in all; undefined
   * when the export does not exist.
   */
  catalogOf(place: ExportReference): Catalog | undefined;
  /** Whether a workspace binds the export, or still has objects of it. */
  isBound(consumer: ClusterName, place: ExportReference): boolean;
  /** The workspaces of all exports of this name that a workspace binds, or still has objects of. */
  providersOf(consumer: ClusterName, name: string): Promise<readonly ClusterName[]>;
  /** Whether a workspace accepts the provider's claim on this resource. */
  hasAccepted(
    consumer: ClusterName,
    place: ExportReference,
    group: string,
    resource: string,
  ): boolean;
}

export class ExportConsumerIndex implements ExportConsumers {
  readonly #dependencies: ApiSharingDependencies;
  readonly #catalog: BoundResourceCatalog;
  readonly #virtualWorkspaces = new WeakMap<ExportRecord, ApiExportVirtualWorkspace>();

  constructor({
    dependencies,
    catalog,
  }: { dependencies: ApiSharingDependencies; catalog: BoundResourceCatalog }) {
    this.#dependencies = dependencies;
    this.#catalog = catalog;
  }

  catalogOf(place: ExportReference): ApiExportVirtualWorkspace | undefined {
    const record = this.#recordOf(place);
    if (record === undefined) return undefined;
    const known = this.#virtualWorkspaces.get(record);
    if (known !== undefined) return known;
    const view = new ApiExportVirtualWorkspace(this.#dependencies, this.#catalog, record);
    this.#virtualWorkspaces.set(record, view);
    return view;
  }

  isBound(consumer: ClusterName, place: ExportReference): boolean {
    for (const _ of bindingsTo(this.#dependencies.bindings, consumer, place)) return true;
    return false;
  }

  async providersOf(consumer: ClusterName, name: string): Promise<readonly ClusterName[]> {
    await this.#dependencies.loading();
    const bound = [...(this.#dependencies.bindings.inCluster(consumer)?.records.values() ?? [])];
    return bound.flatMap(({ exportName, exportCluster }) =>
      exportName === name && exportCluster !== undefined ? [exportCluster] : [],
    );
  }

  hasAccepted(
    consumer: ClusterName,
    place: ExportReference,
    group: string,
    resource: string,
  ): boolean {
    const record = this.#recordOf(place);
    if (record === undefined) return false;
    return (
      acceptedClaimIn(this.#dependencies.bindings, consumer, record, { group, resource }) !==
      undefined
    );
  }

  #recordOf({ cluster, name }: ExportReference): ExportRecord | undefined {
    return this.#dependencies.exports.get(keyOf(apiExports, cluster, name));
  }
}
