/**
 * Resolves virtual storage: which ClusterCachedResource, if any, serves a resource of an export.
 *
 *     APIExport ──virtual──► slice beside it ──► ClusterCachedResource ──► the resource as its own workspace serves it
 *        ▲──────export────────┘
 *
 * Every reference must resolve, and the export must have the identity of the published resource;
 * otherwise nothing is served.
 */
import type { Catalog, ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { ServedResource } from "../binding-index.ts";
import { type ApiSharingDependencies, keyOf } from "../dependencies.ts";
import { resolveExportPath } from "../desired-binding-status.ts";
import { EagerIndex } from "../eager-index.ts";
import { EndpointSliceIndex } from "../endpoint-slice-index.ts";
import { sliceCoversThisShard } from "../endpoint-slices.ts";
import { apiExports } from "../kinds/definitions.ts";
import type { ExportedResource, ExportRecord } from "../records.ts";
import { RetirementNotifier } from "../retirement-notifier.ts";
import { type CachedSource, cachedDefinition } from "./cached-definition.ts";
import { CachedResourceController } from "./cached-resource-controller.ts";
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
  readonly dependencies: ApiSharingDependencies;
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
  readonly #controller: CachedResourceController;

  constructor(options: CachedResourcesOptions) {
    this.#options = options;
    const { storage, watchCache, supervisor } = options.dependencies;
    const { hub } = watchCache;
    const shared = { storage, hub, supervisor };
    this.#resources = new EagerIndex({
      ...shared,
      definition: clusterCachedResources,
      read: readCachedResource,
      onChange: (key, now, before) => this.#onResource(key, now, before),
    });
    this.#slices = new EagerIndex({
      ...shared,
      definition: clusterCachedResourceEndpointSlices,
      read: readCachedSlice,
      onChange: (key, now, before) => this.#onSlice(key, now, before),
    });
    this.#controller = new CachedResourceController({
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
    await this.#controller.stop();
  }

  slice(cluster: ClusterName, name: string): CachedSliceRecord | undefined {
    return this.#slices.get(keyOf(clusterCachedResourceEndpointSlices, cluster, name));
  }

  resourcesIn(cluster: ClusterName): Iterable<CachedResourceRecord> {
    const keys = [...(this.#resourcesIn.get(cluster) ?? [])];
    return keys.flatMap((key) => this.#resources.get(key) ?? []);
  }

  /** Undefined when all objects are indexed. */
  get loading(): Promise<void> | undefined {
    return this.#resources.loading ?? this.#slices.loading;
  }

  /** The export that a slice references; undefined when it does not exist. */
  async exportOf(slice: CachedSliceRecord): Promise<ExportRecord | undefined> {
    const { dependencies } = this.#options;
    const cluster = await resolveExportPath(dependencies, slice.cluster, slice.exportPath);
    if (cluster === undefined) return undefined;
    return dependencies.exports.get(keyOf(apiExports, cluster, slice.exportName));
  }

  /** The ClusterCachedResource that a slice references; undefined when it does not exist. */
  async resourceOf(slice: CachedSliceRecord): Promise<CachedResourceRecord | undefined> {
    const { dependencies } = this.#options;
    const cluster = await resolveExportPath(dependencies, slice.cluster, slice.resourcePath);
    if (cluster === undefined) return undefined;
    return this.#resources.get(keyOf(clusterCachedResources, cluster, slice.resourceName));
  }

  /**
   * The source of the objects of an export's resource; undefined when a reference does not resolve.
   */
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
    const { dependencies, catalog } = this.#options;
    if (!(await sliceCoversThisShard(dependencies, slice.cluster, slice.partitionName)))
      return undefined;
    const served = await servedResource(dependencies, catalog(), record);
    if (isProblem(served)) return undefined;
    return { provider: record.cluster, ...served };
  }

  /**
   * The definition of published objects that a binding serves; undefined when it has no such
   * version.
   */
  async definitionOf(
    { bound, binding, retirement }: ServedResource,
    version: string,
  ): Promise<ResourceDefinition | undefined> {
    const { dependencies } = this.#options;
    const { group, resource } = bound;
    const exported = dependencies.exportOf(binding);
    const offered = exported?.resources.find(
      (one) => one.resource === resource && one.group === group,
    );
    await this.loading;
    const slice = exported && this.slice(exported.cluster, offered?.virtual?.name ?? "");
    // Subscribed before the first read: later changes end the watches of the result.
    const changed = slice && this.#retirementOf(slice);
    const source = exported && offered && (await this.sourceOf(exported, offered));
    if (exported === undefined || changed === undefined || source === undefined)
      throw statusError.internal(
        `error resolving resource ${resource}.${group}; please contact APIExport owner to resolve`,
      );
    if (source.definition.version !== version) return undefined;
    return cachedDefinition(source, binding.cluster, [
      retirement.onRetired,
      (callback) => dependencies.onExportChanged(exported, callback),
      changed.onRetired,
    ]);
  }

  /** Called when a change affects the served resources of a workspace. */
  onServedIn(cluster: ClusterName): void {
    for (const key of this.#resourcesIn.get(cluster) ?? []) this.#controller.resources.add(key);
  }

  onExport(name: string): void {
    this.#requeueSlices(this.#slicesOfExports.ofExport(name));
  }

  onPartition(key: StorageKey): void {
    this.#requeueSlices(this.#slicesOfExports.ofPartition(key));
  }

  onShards(): void {
    this.#requeueSlices(this.#slicesOfExports.partitioned());
  }

  onSecret(key: StorageKey): void {
    this.#controller.onSecret(key);
  }

  /** Called when the external URL of this server is known. */
  onExternalUrl(): void {
    this.#requeueSlices(this.#slicesOfExports.all());
  }

  #requeueSlices(slices: Iterable<StorageKey>): void {
    for (const key of slices) this.#controller.slices.add(key);
  }

  #retirementOf({ cluster, name }: CachedSliceRecord): RetirementNotifier {
    const key = keyOf(clusterCachedResourceEndpointSlices, cluster, name);
    const known = this.#retirements.get(key) ?? new RetirementNotifier();
    this.#retirements.set(key, known);
    return known;
  }

  /** Ends the watches of a slice's resource, so that clients begin new ones. */
  #retire(slice: StorageKey): void {
    this.#retirements.get(slice)?.retire();
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
    this.#controller.resources.add(key);
    if (now?.content === before?.content) return;
    for (const slice of this.#slicesOfResources.ofExport(name)) {
      this.#retire(slice);
      this.#controller.slices.add(slice);
    }
  }

  #onSlice(
    key: StorageKey,
    now: CachedSliceRecord | undefined,
    before: CachedSliceRecord | undefined,
  ): void {
    this.#slicesOfExports.change(key, now, before);
    this.#slicesOfResources.change(key, byResource(now), byResource(before));
    this.#controller.slices.add(key);
    const isSame = now?.uid === before?.uid && now?.partition === before?.partition;
    if (!isSame) this.#retire(key);
  }
}

/** The entry of a slice in the second index, whose key is its ClusterCachedResource. */
function byResource(slice: CachedSliceRecord | undefined) {
  return slice && { exportName: slice.resourceName, partition: undefined };
}
