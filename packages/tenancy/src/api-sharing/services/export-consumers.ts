/** The consumers of an export, for virtual workspaces that are defined outside this package: what they have of it, and what they agreed to. */

import type { Catalog } from "@kcp-ts/apiserver/registry";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { acceptedClaimIn, bindingsTo } from "../claims.ts";
import { apiExports } from "../kinds/definitions.ts";
import { type ApiSharingDependencies, keyOf } from "../parts.ts";
import type { ExportRecord } from "../records.ts";
import type { BoundResourceCatalog } from "../sharing-catalog.ts";
import { ApiExportVirtualWorkspace } from "./export-view.ts";

/** An export by the workspace that it is in. */
export interface ExportReference {
  readonly cluster: ClusterName;
  readonly name: string;
}

export interface ExportConsumers {
  /** The resources of an export as its consumers have them, in one of them or in all; undefined when there is no such export. */
  catalogOf(place: ExportReference): Catalog | undefined;
  /** Whether a workspace is bound to it, or still has objects of it. */
  isBound(consumer: ClusterName, place: ExportReference): boolean;
  /** Where the exports of this name are that a workspace is bound to, or still has objects of. */
  providersOf(consumer: ClusterName, name: string): Promise<readonly ClusterName[]>;
  /** Whether a workspace agrees that the provider sees this resource of it. */
  hasAccepted(
    consumer: ClusterName,
    place: ExportReference,
    group: string,
    resource: string,
  ): boolean;
}

export class ExportConsumerIndex implements ExportConsumers {
  readonly #parts: ApiSharingDependencies;
  readonly #catalog: BoundResourceCatalog;
  readonly #views = new WeakMap<ExportRecord, ApiExportVirtualWorkspace>();

  constructor({
    parts,
    catalog,
  }: { parts: ApiSharingDependencies; catalog: BoundResourceCatalog }) {
    this.#parts = parts;
    this.#catalog = catalog;
  }

  catalogOf(place: ExportReference): ApiExportVirtualWorkspace | undefined {
    const record = this.#recordOf(place);
    if (record === undefined) return undefined;
    const known = this.#views.get(record);
    if (known !== undefined) return known;
    const view = new ApiExportVirtualWorkspace(this.#parts, this.#catalog, record);
    this.#views.set(record, view);
    return view;
  }

  isBound(consumer: ClusterName, place: ExportReference): boolean {
    for (const _ of bindingsTo(this.#parts.bindings, consumer, place)) return true;
    return false;
  }

  async providersOf(consumer: ClusterName, name: string): Promise<readonly ClusterName[]> {
    await this.#parts.loading();
    const bound = [...(this.#parts.bindings.in(consumer)?.records.values() ?? [])];
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
      acceptedClaimIn(this.#parts.bindings, consumer, record, { group, resource }) !== undefined
    );
  }

  #recordOf({ cluster, name }: ExportReference): ExportRecord | undefined {
    return this.#parts.exports.get(keyOf(apiExports, cluster, name));
  }
}
