/** The room put together: what the server starts, stops and asks about APIs that workspaces share. */

import type { AdmissionPlugin } from "@kcp-ts/apiserver/admission";
import { type Conversion, customResourceDefinitions } from "@kcp-ts/apiserver/custom-resources";
import {
  type Catalog,
  type CollectionSource,
  collectionKeyOf,
  type ResourceDefinition,
  secrets,
} from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import { parseObjectKey, resourcePrefix, type StorageKey } from "@kcp-ts/apiserver/storage";
import type { HubEvent } from "@kcp-ts/apiserver/watch-cache";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { partitions } from "../topology/index.ts";
import { type DefaultBinding, type DefaultBindingsState, shards } from "../workspaces/index.ts";
import { BindingIndex } from "./binding-index.ts";
import { bootstrapExports } from "./bootstrap-exports.ts";
import { cachedAdmission } from "./cached-resources/admission.ts";
import { CachedResources } from "./cached-resources/cached-resources.ts";
import { cacheResources } from "./cached-resources/kinds.ts";
import { ClaimLabelController } from "./claim-follower.ts";
import { createDefaultBindings, defaultBindingName } from "./default-bindings.ts";
import { areDefaultBindingsComplete, defaultBindingsStateOf } from "./default-states.ts";
import { EagerIndex } from "./eager-index.ts";
import {
  apiBindings,
  apiExportEndpointSlices,
  apiExports,
  apiResourceSchemas,
  apiSharingKinds,
} from "./kinds/definitions.ts";
import { type ApiSharingDependencies, type ApiSharingInputs, keyOf } from "./parts.ts";
import { hasStaleClaimLabels, prefixesOf, updateClaimLabelsOf } from "./permission-claims.ts";
import { type BindingRecord, type ExportRecord, readBinding, readExport } from "./records.ts";
import { RetirementNotifier } from "./retirement.ts";
import { SchemaCopyCollector } from "./schema-copies.ts";
import { copiesPrefix, SchemaStore } from "./schema-store.ts";
import { sharingAdmission } from "./sharing-admission.ts";
import { BoundResourceCatalog } from "./sharing-catalog.ts";
import { ApiSharingController } from "./sharing-loop.ts";
import {
  EndpointSliceIndex,
  type EndpointSliceRecord,
  readEndpointSlice,
} from "./slices-of-exports.ts";

export interface ApiSharingOptions extends ApiSharingInputs {
  /** Built-in kinds and custom resources. */
  readonly inner: Catalog & CollectionSource;
  readonly conversion: Conversion;
}

export class ApiSharing {
  /** Served in every logical cluster. */
  static readonly resources: readonly ResourceDefinition[] = [
    ...apiSharingKinds,
    ...cacheResources,
  ];
  readonly catalog: BoundResourceCatalog;
  readonly admissionPlugins: readonly AdmissionPlugin[];
  readonly parts: ApiSharingDependencies;
  readonly cached: CachedResources;
  readonly #bindingRecords: EagerIndex<BindingRecord>;
  readonly #exportRecords: EagerIndex<ExportRecord>;
  readonly #loop: ApiSharingController;
  readonly #claims: ClaimLabelController;
  readonly #copies: SchemaCopyCollector;
  readonly #slices = new EndpointSliceIndex();
  readonly #sliceRecords: EagerIndex<EndpointSliceRecord>;
  readonly #retirements = new Map<StorageKey, RetirementNotifier>();
  #isStarting = false;
  #externalUrl = "https://localhost:6443";

  constructor(options: ApiSharingOptions) {
    const { storage, watchCache, clock, supervisor, onError } = options;
    const { hub } = watchCache;
    const bindings = new BindingIndex();
    const schemas = new SchemaStore(options);
    this.#copies = new SchemaCopyCollector({
      ...{ storage, clock, supervisor, onError },
      isUsed: (uid) => bindings.isUsed(uid),
      onGone: (uid) => schemas.forget(uid),
    });
    schemas.onCopy = (uid) => {
      if (!bindings.isUsed(uid)) this.#copies.unused(uid);
    };
    this.#bindingRecords = new EagerIndex({
      ...{ storage, hub, supervisor, definition: apiBindings, read: readBinding },
      onChange: (key, now, before) => this.#onBinding(key, now, before),
    });
    this.#exportRecords = new EagerIndex({
      ...{ storage, hub, supervisor, definition: apiExports, read: readExport },
      onChange: (key, now) => this.#onExport(key, now),
    });
    this.#sliceRecords = new EagerIndex({
      ...{ storage, hub, supervisor, definition: apiExportEndpointSlices, read: readEndpointSlice },
      onChange: (key, now, before) => {
        this.#slices.change(key, now, before);
        // What a start finds is looked at when it is known where clients reach this server.
        if (now !== undefined && !this.#isStarting) this.#loop.slices.add(key);
      },
    });
    this.parts = {
      ...options,
      bindings,
      schemas,
      exports: this.#exportRecords,
      exportOf: (binding) => this.#exportOf(binding),
      onExportChanged: (record, callback) => this.#onExportChanged(record, callback),
      loading: () => this.#bindingRecords.loading ?? this.#exportRecords.loading,
    };
    const externalUrl = () => this.#externalUrl;
    const catalog = () => this.catalog;
    this.cached = new CachedResources({ parts: this.parts, catalog, externalUrl });
    this.catalog = new BoundResourceCatalog({ ...options, ...this.parts, cached: this.cached });
    this.#loop = new ApiSharingController({
      parts: this.parts,
      catalog: this.catalog,
      externalUrl,
    });
    this.#claims = new ClaimLabelController({
      ...{ hub, storage, clock, supervisor, onError, loading: this.parts.loading },
      prefixesOf: (claim) => prefixesOf(this.parts, claim),
      isMislabelled: (entry) => hasStaleClaimLabels(this.parts, entry),
      relabel: (key) => updateClaimLabelsOf(this.parts, this.catalog, key),
    });
    this.admissionPlugins = [
      ...sharingAdmission(this.parts),
      ...cachedAdmission(this.parts, this.cached, this.catalog),
    ];
  }

  /** The hub must be open. Resolves when it is known what is bound. */
  async start(): Promise<void> {
    this.#listen();
    await this.#exportRecords.start();
    await this.#bindingRecords.start();
    this.#isStarting = true;
    await this.#sliceRecords.start();
    this.#isStarting = false;
    await this.cached.start();
    // Both go on beside what is served, and the supervisor says what fails.
    void this.#copies.start();
    void this.#claims.sweep();
  }

  async stop(): Promise<void> {
    this.#copies.stop();
    this.#bindingRecords.stop();
    this.#exportRecords.stop();
    this.#sliceRecords.stop();
    await Promise.all([this.#loop.stop(), this.#claims.stop(), this.cached.stop()]);
  }

  /** Where clients reach this server, without a path. */
  set externalUrl(url: string) {
    this.#externalUrl = url;
    this.#lookAtSlices(this.#slices.all());
    this.cached.onExternalUrl();
  }

  get externalUrl(): string {
    return this.#externalUrl;
  }

  /** Makes what root exports from the start. It must have its namespaces. */
  bootstrap(): Promise<void> {
    return bootstrapExports(this.parts);
  }

  /** Binds a new workspace to what its type says. */
  bindDefaults(
    cluster: ClusterName,
    path: string,
    wanted: readonly DefaultBinding[],
  ): Promise<void> {
    return createDefaultBindings(this.parts, cluster, path, wanted);
  }

  /** Whether a new workspace is bound to all of these by that. */
  defaultsComplete(cluster: ClusterName, wanted: readonly DefaultBinding[]): MaybePromise<boolean> {
    return areDefaultBindingsComplete(this.parts, cluster, wanted);
  }

  /** How far one that is there is with them. */
  defaultsIn(
    cluster: ClusterName,
    wanted: readonly DefaultBinding[],
  ): Promise<DefaultBindingsState> {
    return defaultBindingsStateOf(this.parts, cluster, wanted);
  }

  /** The same for one that is there already. */
  async keepDefaults(
    cluster: ClusterName,
    path: string,
    wanted: readonly DefaultBinding[],
  ): Promise<void> {
    await this.parts.loading();
    await createDefaultBindings(this.parts, cluster, path, wanted);
    for (const one of wanted)
      this.#loop.bindings.add(keyOf(apiBindings, cluster, defaultBindingName(cluster, one)));
  }

  /** Where the roles are that limit what anybody may do with a bound resource; undefined when nothing does. */
  policyOn(cluster: ClusterName, group: string, resource: string): ClusterName | undefined {
    const served = this.parts.bindings.in(cluster)?.find(group, resource);
    if (served === undefined) return undefined;
    const exported = this.#exportOf(served.binding);
    return exported?.hasPolicy === true ? exported.cluster : undefined;
  }

  /** Whose rules hold for writes of a resource: the provider's where it is bound. */
  ownerOf(cluster: ClusterName, group: string, resource: string): ClusterName {
    return this.parts.bindings.in(cluster)?.find(group, resource)?.binding.exportCluster ?? cluster;
  }

  #exportOf({ exportCluster, exportName }: BindingRecord): ExportRecord | undefined {
    if (exportCluster === undefined) return undefined;
    return this.#exportRecords.get(keyOf(apiExports, exportCluster, exportName));
  }

  #onBinding(
    key: StorageKey,
    now: BindingRecord | undefined,
    before: BindingRecord | undefined,
  ): void {
    const { bindings } = this.parts;
    const wasUsed = usesOf(bindings, before ?? now);
    bindings.change(now, before);
    this.#claims.change(now, before);
    for (const { schemaUid } of before?.bound ?? [])
      if (!bindings.isUsed(schemaUid)) this.#copies.unused(schemaUid);
    this.#loop.bindings.add(key);
    const { cluster } = (now ?? before) as BindingRecord;
    this.parts.onBinding(cluster);
    this.cached.onServedIn(cluster);
    if (usesOf(bindings, now ?? before) !== wasUsed) this.#touchSlices(now ?? before);
    if (now !== undefined && now.bound === before?.bound) return;
    // What one lets go another may have been waiting for.
    this.#lookAgain(cluster, key);
  }

  /** Bindings of a cluster that lack something, or may lose something to an earlier one. */
  #lookAgain(cluster: ClusterName, except: StorageKey | undefined): void {
    for (const { name } of this.parts.bindings.in(cluster)?.records.values() ?? []) {
      const key = keyOf(apiBindings, cluster, name);
      if (key !== except) this.#loop.bindings.add(key);
    }
  }

  #touchSlices(binding: BindingRecord | undefined): void {
    if (binding?.exportCluster === undefined) return;
    this.#lookAtSlices(this.#slices.of(binding.exportName));
    this.cached.onExport(binding.exportName);
  }

  #lookAtSlices(keys: Iterable<StorageKey>): void {
    for (const key of keys) this.#loop.slices.add(key);
  }

  #onExport(key: StorageKey, now: ExportRecord | undefined): void {
    const { cluster, name } = parseObjectKey(key);
    this.#retirements.get(key)?.end();
    this.#retirements.delete(key);
    if (now !== undefined) this.#loop.exports.add(key);
    this.#lookAtSlices(this.#slices.of(name));
    this.cached.onExport(name);
    const { bindings } = this.parts;
    for (const binding of bindings.to(cluster, name)) this.#lookAt(binding);
    for (const binding of bindings.lookingFor(name)) this.#lookAt(binding);
  }

  #lookAt({ cluster, name }: BindingRecord): void {
    this.#loop.bindings.add(keyOf(apiBindings, cluster, name));
  }

  #onExportChanged(record: ExportRecord, callback: () => void): () => void {
    const key = keyOf(apiExports, record.cluster, record.name);
    const known = this.#exportRecords.get(key);
    if (known !== record) {
      callback();
      return () => {};
    }
    const retirement = this.#retirements.get(key) ?? new RetirementNotifier();
    this.#retirements.set(key, retirement);
    return retirement.on(callback);
  }

  #listen(): void {
    this.#follow(secrets, (key) => {
      this.#loop.onSecret(key);
      this.cached.onSecret(key);
    });
    this.#follow(customResourceDefinitions, (key) => {
      const { cluster } = parseObjectKey(key);
      // A name that a definition lets go another may have been waiting for.
      this.#lookAgain(cluster, undefined);
      this.cached.onServedIn(cluster);
    });
    this.#follow(partitions, (key) => {
      this.#lookAtSlices(this.#slices.in(key));
      this.cached.onPartition(key);
    });
    this.#follow(shards, () => {
      this.#lookAtSlices(this.#slices.partitioned());
      this.cached.onShards();
    });
    this.#follow(apiResourceSchemas, (key, event) => {
      if (key.startsWith(copiesPrefix)) this.#copies.onEvent(event);
      else this.#onSchema(parseObjectKey(key).cluster);
    });
  }

  /** A schema that comes late completes the exports of its workspace. */
  #onSchema(cluster: ClusterName): void {
    for (const record of this.#exportRecords.values()) {
      if (record.cluster !== cluster) continue;
      for (const binding of this.parts.bindings.to(cluster, record.name)) this.#lookAt(binding);
    }
  }

  #follow(
    definition: ResourceDefinition,
    onChange: (key: StorageKey, event: HubEvent) => void,
  ): void {
    const listen = () => {
      this.parts.watchCache.hub.listen(resourcePrefix(collectionKeyOf(definition)), {
        onEvent: (event) => onChange(event.key, event),
        onLost: (error) => {
          if (error.code !== "closed") listen();
        },
      });
    };
    listen();
  }
}

function usesOf(bindings: BindingIndex, binding: BindingRecord | undefined): boolean {
  if (binding?.exportCluster === undefined) return false;
  return bindings.hasBindingsTo(binding.exportCluster, binding.exportName);
}
