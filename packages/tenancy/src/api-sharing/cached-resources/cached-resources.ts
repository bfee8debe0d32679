/**
 * Objects of providers that consumers read: which ClusterCachedResource, if any, is behind a resource that an export has.
 *
 *     APIExport ──virtual──► slice beside it ──► ClusterCachedResource ──► the resource as its own workspace serves it
 *        ▲──────export────────┘
 *
 * Each arrow must hold, and the export must know the identity of what it offers; otherwise nothing is served.
 */

import type { Catalog, ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { ServedResource } from "../binding-index.ts";
import { EagerIndex } from "../eager-index.ts";
import { sliceCoversThisShard } from "../endpoint-slices.ts";
import { apiExports } from "../kinds/definitions.ts";
import { type ApiSharingDependencies, keyOf } from "../parts.ts";
import type { ExportedResource, ExportRecord } from "../records.ts";
import { RetirementNotifier } from "../retirement.ts";
import { resolveExportPath } from "../settle-binding.ts";
import { EndpointSliceIndex } from "../slices-of-exports.ts";
import { type CachedSource, cachedDefinition } from "./cached-definition.ts";
import { CachedResourceController } from "./cached-loop.ts";
import { clusterCachedResourceEndpointSlices, clusterCachedResources } from "./kinds.ts";
import {
  type CachedResourceRecord,
  type CachedSliceRecord,
  isCachedStorage,
  readCachedResource,
  readCachedSlice,
} from "./records.ts";
import { isProblem, servedResource } from "./served-resource.ts";

export interface CachedResourcesOptions {
  readonly parts: ApiSharingDependencies;
  readonly catalog: () => Catalog;
  readonly externalUrl: () => string;
}

export class CachedResources {
  readonly #options: CachedResourcesOptions;
  readonly #resources: EagerIndex<CachedResourceRecord>;
  readonly #slices: EagerIndex<CachedSliceRecord>;
  readonly #resourcesIn = new Map<ClusterName, Set<StorageKey>>();
  readonly #slicesOfExports = new EndpointSliceIndex();
  readonly #slicesOfResources = new EndpointSliceIndex();
  readonly #retirements = new Map<StorageKey, RetirementNotifier>();
  readonly #loop: CachedResourceController;

  constructor(options: CachedResourcesOptions) {
    this.#options = options;
    const { storage, watchCache, supervisor } = options.parts;
    const { hub } = watchCache;
    const shared = { storage, hub, supervisor };
    this.#resources = new EagerIndex({
      ...{ ...shared, definition: clusterCachedResources, read: readCachedResource },
      onChange: (key, now, before) => this.#onResource(key, now, before),
    });
    this.#slices = new EagerIndex({
      ...{ ...shared, definition: clusterCachedResourceEndpointSlices, read: readCachedSlice },
      onChange: (key, now, before) => this.#onSlice(key, now, before),
    });
    this.#loop = new CachedResourceController({
      ...options,
      recordOf: (key) => this.#resources.get(key),
      targets: this,
    });
  }

  /** The hub must be open. */
  async start(): Promise<void> {
    await this.#resources.start();
    await this.#slices.start();
  }

  async stop(): Promise<void> {
    this.#resources.stop();
    this.#slices.stop();
    await this.#loop.stop();
  }

  slice(cluster: ClusterName, name: string): CachedSliceRecord | undefined {
    return this.#slices.get(keyOf(clusterCachedResourceEndpointSlices, cluster, name));
  }

  in(cluster: ClusterName): Iterable<CachedResourceRecord> {
    const keys = [...(this.#resourcesIn.get(cluster) ?? [])];
    return keys.flatMap((key) => this.#resources.get(key) ?? []);
  }

  /** Undefined when everything is known. */
  get loading(): Promise<void> | undefined {
    return this.#resources.loading ?? this.#slices.loading;
  }

  /** The export that a slice names; undefined when there is none. */
  async exportOf(slice: CachedSliceRecord): Promise<ExportRecord | undefined> {
    const { parts } = this.#options;
    const cluster = await resolveExportPath(parts, slice.cluster, slice.exportPath);
    if (cluster === undefined) return undefined;
    return parts.exports.get(keyOf(apiExports, cluster, slice.exportName));
  }

  /** The ClusterCachedResource that a slice names; undefined when there is none. */
  async resourceOf(slice: CachedSliceRecord): Promise<CachedResourceRecord | undefined> {
    const { parts } = this.#options;
    const cluster = await resolveExportPath(parts, slice.cluster, slice.resourcePath);
    if (cluster === undefined) return undefined;
    return this.#resources.get(keyOf(clusterCachedResources, cluster, slice.resourceName));
  }

  /** Where the objects of a resource of an export are; undefined when that cannot be told. */
  async sourceOf(
    exported: ExportRecord,
    { group, resource, virtual }: ExportedResource,
  ): Promise<CachedSource | undefined> {
    if (!isCachedStorage(virtual)) return undefined;
    await this.loading;
    const slice = this.slice(exported.cluster, virtual.name);
    const named = slice && (await this.exportOf(slice));
    if (slice === undefined || named?.uid !== exported.uid) return undefined;
    const record = await this.resourceOf(slice);
    if (record === undefined || record.isDeleted || record.identityHash === "") return undefined;
    if (record.identityHash !== virtual.identityHash) return undefined;
    if (record.group !== group || record.resource !== resource) return undefined;
    const { parts, catalog } = this.#options;
    if (!(await sliceCoversThisShard(parts, slice.cluster, slice.partitionName))) return undefined;
    const served = await servedResource(parts, catalog(), record);
    if (isProblem(served)) return undefined;
    return { provider: record.cluster, ...served };
  }

  /** What a binding serves of somebody else's objects; undefined when it has no such version. */
  async definitionOf(
    { bound, binding, retirement }: ServedResource,
    version: string,
  ): Promise<ResourceDefinition | undefined> {
    const { parts } = this.#options;
    const { group, resource } = bound;
    const exported = parts.exportOf(binding);
    const offered = exported?.resources.find(
      (one) => one.resource === resource && one.group === group,
    );
    await this.loading;
    const slice = exported && this.slice(exported.cluster, offered?.virtual?.name ?? "");
    // Taken before anything is looked at: what changes from here on ends the watches of what is found.
    const changed = slice && this.#retirementOf(slice);
    const source = exported && offered && (await this.sourceOf(exported, offered));
    if (exported === undefined || changed === undefined || source === undefined)
      throw statusError.internal(
        `error resolving resource ${resource}.${group}; please contact APIExport owner to resolve`,
      );
    if (source.definition.version !== version) return undefined;
    return cachedDefinition(source, binding.cluster, [
      retirement.on,
      (callback) => parts.onExportChanged(exported, callback),
      changed.on,
    ]);
  }

  /** Something that decides what a workspace serves has changed. */
  onServedIn(cluster: ClusterName): void {
    for (const key of this.#resourcesIn.get(cluster) ?? []) this.#loop.resources.add(key);
  }

  onExport(name: string): void {
    this.#lookAt(this.#slicesOfExports.of(name));
  }

  onPartition(key: StorageKey): void {
    this.#lookAt(this.#slicesOfExports.in(key));
  }

  onShards(): void {
    this.#lookAt(this.#slicesOfExports.partitioned());
  }

  onSecret(key: StorageKey): void {
    this.#loop.onSecret(key);
  }

  /** It is known where clients reach this server. */
  onExternalUrl(): void {
    this.#lookAt(this.#slicesOfExports.all());
  }

  #lookAt(slices: Iterable<StorageKey>): void {
    for (const key of slices) this.#loop.slices.add(key);
  }

  #retirementOf({ cluster, name }: CachedSliceRecord): RetirementNotifier {
    const key = keyOf(clusterCachedResourceEndpointSlices, cluster, name);
    const known = this.#retirements.get(key) ?? new RetirementNotifier();
    this.#retirements.set(key, known);
    return known;
  }

  /** Watches of what is behind a slice begin anew. */
  #retire(slice: StorageKey): void {
    this.#retirements.get(slice)?.end();
    this.#retirements.delete(slice);
  }

  #onResource(
    key: StorageKey,
    now: CachedResourceRecord | undefined,
    before: CachedResourceRecord | undefined,
  ): void {
    const { cluster, name } = parseObjectKey(key);
    const known = this.#resourcesIn.get(cluster) ?? new Set<StorageKey>();
    if (now === undefined) known.delete(key);
    else known.add(key);
    if (known.size === 0) this.#resourcesIn.delete(cluster);
    else this.#resourcesIn.set(cluster, known);
    this.#loop.resources.add(key);
    if (now?.content === before?.content) return;
    for (const slice of this.#slicesOfResources.of(name)) {
      this.#retire(slice);
      this.#loop.slices.add(slice);
    }
  }

  #onSlice(
    key: StorageKey,
    now: CachedSliceRecord | undefined,
    before: CachedSliceRecord | undefined,
  ): void {
    this.#slicesOfExports.change(key, now, before);
    this.#slicesOfResources.change(key, byResource(now), byResource(before));
    this.#loop.slices.add(key);
    const isSame = now?.uid === before?.uid && now?.partition === before?.partition;
    if (!isSame) this.#retire(key);
  }
}

/** The same index, by the other name that a slice has. */
function byResource(slice: CachedSliceRecord | undefined) {
  return slice && { exportName: slice.resourceName, partition: undefined };
}
