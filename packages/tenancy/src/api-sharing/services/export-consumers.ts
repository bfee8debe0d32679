/** The consumers of an export, for virtual workspaces that are defined outside this package: what they have of it, and what they agreed to. */

import type { Catalog } from "@kcp-ts/apiserver/registry";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { acceptedIn, bindingsTo } from "../claims.ts";
import { apiExports } from "../kinds/definitions.ts";
import { keyOf, type SharingParts } from "../parts.ts";
import type { ExportRecord } from "../records.ts";
import type { SharingCatalog } from "../sharing-catalog.ts";
import { ExportView } from "./export-view.ts";

/** An export by the workspace that it is in. */
export interface ExportPlace {
  readonly cluster: ClusterName;
  readonly name: string;
}

export interface ExportConsumers {
  /** The resources of an export as its consumers have them, in one of them or in all; undefined when there is no such export. */
  catalogOf(place: ExportPlace): Catalog | undefined;
  /** Whether a workspace is bound to it, or still has objects of it. */
  isBound(consumer: ClusterName, place: ExportPlace): boolean;
  /** Where the exports of this name are that a workspace is bound to, or still has objects of. */
  providersOf(consumer: ClusterName, name: string): Promise<readonly ClusterName[]>;
  /** Whether a workspace agrees that the provider sees this resource of it. */
  hasAccepted(consumer: ClusterName, place: ExportPlace, group: string, resource: string): boolean;
}

export class ConsumersOfExports implements ExportConsumers {
  readonly #parts: SharingParts;
  readonly #catalog: SharingCatalog;
  readonly #views = new WeakMap<ExportRecord, ExportView>();

  constructor({ parts, catalog }: { parts: SharingParts; catalog: SharingCatalog }) {
    this.#parts = parts;
    this.#catalog = catalog;
  }

  catalogOf(place: ExportPlace): ExportView | undefined {
    const record = this.#recordOf(place);
    if (record === undefined) return undefined;
    const known = this.#views.get(record);
    if (known !== undefined) return known;
    const view = new ExportView(this.#parts, this.#catalog, record);
    this.#views.set(record, view);
    return view;
  }

  isBound(consumer: ClusterName, place: ExportPlace): boolean {
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

  hasAccepted(consumer: ClusterName, place: ExportPlace, group: string, resource: string): boolean {
    const record = this.#recordOf(place);
    if (record === undefined) return false;
    return acceptedIn(this.#parts.bindings, consumer, record, { group, resource }) !== undefined;
  }

  #recordOf({ cluster, name }: ExportPlace): ExportRecord | undefined {
    return this.#parts.exports.get(keyOf(apiExports, cluster, name));
  }
}
