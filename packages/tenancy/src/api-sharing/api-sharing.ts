/**
 * Composes API sharing: the server starts, stops and queries the APIs that workspaces share through
 * this class.
 */
import type { AdmissionPlugin } from "@kcp-ts/apiserver/admission";
import { type Conversion, customResourceDefinitions } from "@kcp-ts/apiserver/custom-resources";
import {
  type Catalog,
  type CollectionSource,
  collectionKeyOf,
  type ResourceDefinition,
  secrets,
} from "@kcp-ts/apiserver/registry";
import { parseObjectKey, resourcePrefix, type StorageKey } from "@kcp-ts/apiserver/storage";
import type { HubEvent } from "@kcp-ts/apiserver/watch-cache";
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { followReplicas } from "../replicas/index.ts";
import { partitions } from "../topology/index.ts";
import { type DefaultBinding, type DefaultBindingsState, shards } from "../workspaces/index.ts";
import { ApiSharingController } from "./api-sharing-controller.ts";
import { BindingIndex } from "./binding-index.ts";
import { bootstrapExports } from "./bootstrap-exports.ts";
import { BoundResourceCatalog } from "./bound-resource-catalog.ts";
import { cachedAdmission } from "./cached-resources/admission.ts";
import { CachedResources } from "./cached-resources/cached-resources.ts";
import { cacheResources } from "./cached-resources/kinds.ts";
import { ClaimLabelController } from "./claim-label-controller.ts";
import { hasStaleClaimLabels, prefixesOf, updateClaimLabelsOf } from "./claim-labels.ts";
import { type ClaimedIdentities, claimedIdentities } from "./claimed-identities.ts";
import { type ConsumerReports, consumerReports } from "./consumer-reports.ts";
import { createDefaultBindings, defaultBindingName } from "./default-bindings.ts";
import { areDefaultBindingsComplete, defaultBindingsStateOf } from "./default-bindings-state.ts";
import { type ApiSharingDependencies, type ApiSharingInputs, keyOf } from "./dependencies.ts";
import { EagerIndex, type EagerIndexOptions } from "./eager-index.ts";
import {
  EndpointSliceIndex,
  type EndpointSliceRecord,
  readEndpointSlice,
} from "./endpoint-slice-index.ts";
import {
  apiBindings,
  apiExportEndpointSlices,
  apiExports,
  apiResourceSchemas,
  apiSharingKinds,
} from "./kinds/definitions.ts";
import { type BindingRecord, type ExportRecord, readBinding, readExport } from "./records.ts";
import { RetirementNotifier } from "./retirement-notifier.ts";
import { SchemaCopyCollector } from "./schema-copy-collector.ts";
import { copiesPrefix, SchemaStore } from "./schema-store.ts";
import { SharedExports, sharedExports } from "./shared-exports.ts";
import { sharingAdmission } from "./sharing-admission.ts";

export interface ApiSharingOptions extends ApiSharingInputs {
  /** The catalog of built-in kinds and custom resources. */
  readonly inner: Catalog & CollectionSource;
  readonly conversion: Conversion;
}

export class ApiSharing {
  /** Resources that are served in every logical cluster. */
  static readonly resources: readonly ResourceDefinition[] = [
    ...apiSharingKinds,
    ...cacheResources,
  ];
  readonly catalog: BoundResourceCatalog;
  readonly admissionPlugins: readonly AdmissionPlugin[];
  readonly dependencies: ApiSharingDependencies;
  readonly cachedResources: CachedResources;
  readonly #bindingRecords: EagerIndex<BindingRecord>;
  readonly #exportRecords: EagerIndex<ExportRecord>;
  /** The exports of other shards that this shard uses; undefined for the only shard. */
  readonly #replicaExports: EagerIndex<ExportRecord> | undefined;
  readonly #exports: ApiSharingDependencies["exports"];
  readonly #claimedIdentities: ClaimedIdentities | undefined;
  readonly #consumerReports: ConsumerReports | undefined;
  readonly #controller: ApiSharingController;
  readonly #claimLabels: ClaimLabelController;
  readonly #schemaCopyCollector: SchemaCopyCollector;
  readonly #endpointSlices = new EndpointSliceIndex();
  readonly #sliceRecords: EagerIndex<EndpointSliceRecord>;
  readonly #retirements = new Map<StorageKey, RetirementNotifier>();
  #isStarting = false;
  #externalUrl = "https://localhost:6443";

  constructor(options: ApiSharingOptions) {
    const { hub } = options.watchCache;
    const indexed = { ...options, hub };
    const bindings = new BindingIndex();
    const schemas = new SchemaStore(options);
    this.#schemaCopyCollector = new SchemaCopyCollector({
      ...options,
      isUsed: (uid) => bindings.isUsed(uid),
      onDeleted: (uid) => schemas.forget(uid),
    });
    schemas.onCopy = (uid) => {
      if (!bindings.isUsed(uid)) this.#schemaCopyCollector.markUnused(uid);
    };
    this.#bindingRecords = new EagerIndex({
      ...indexed,
      definition: apiBindings,
      read: readBinding,
      onChange: (key, now, before) => this.#onBinding(key, now, before),
    });
    const ofExports = { ...indexed, ...this.#exportIndexing };
    this.#exportRecords = new EagerIndex(ofExports);
    const { replicas } = options;
    if (replicas !== undefined)
      this.#replicaExports = new EagerIndex({ ...ofExports, isOfReplicas: true });
    this.#exports = sharedExports(this.#exportRecords, this.#replicaExports, replicas);
    this.#sliceRecords = new EagerIndex({
      ...indexed,
      definition: apiExportEndpointSlices,
      read: readEndpointSlice,
      onChange: (key, now, before) => this.#onEndpointSlice(key, now, before),
    });
    const dependencies: ApiSharingDependencies = {
      ...options,
      bindings,
      schemas,
      exports: this.#exports,
      exportOf: (binding) => this.#exportOf(binding),
      onExportChanged: (record, callback) => this.#onExportChanged(record, callback),
      loading: () => this.#loading,
    };
    this.dependencies = dependencies;
    const externalUrl = () => this.#externalUrl;
    const catalog = () => this.catalog;
    this.cachedResources = new CachedResources({ dependencies, catalog, externalUrl });
    this.catalog = new BoundResourceCatalog({
      ...options,
      ...dependencies,
      cachedResources: this.cachedResources,
    });
    this.#controller = new ApiSharingController({
      dependencies,
      catalog: this.catalog,
      externalUrl,
    });
    this.#consumerReports = consumerReports(dependencies);
    this.#claimedIdentities = claimedIdentities(dependencies);
    this.#claimLabels = new ClaimLabelController({
      ...indexed,
      loading: dependencies.loading,
      prefixesOf: (claim) => prefixesOf(dependencies, claim),
      hasStaleClaimLabels: (entry) => hasStaleClaimLabels(dependencies, entry),
      updateClaimLabels: (key) => updateClaimLabelsOf(dependencies, this.catalog, key),
    });
    this.admissionPlugins = [
      ...sharingAdmission(dependencies),
      ...cachedAdmission(dependencies, this.cachedResources, this.catalog),
    ];
  }

  /** Resolves when all bindings are indexed. The hub must be open. */
  async start(): Promise<void> {
    this.#listen();
    await this.#exportRecords.start();
    await this.#replicaExports?.start();
    await this.#bindingRecords.start();
    this.#isStarting = true;
    await this.#sliceRecords.start();
    this.#isStarting = false;
    await this.cachedResources.start();
    // Both run in the background, and the supervisor reports their errors.
    void this.#schemaCopyCollector.start();
    void this.#claimLabels.sweep();
  }

  async stop(): Promise<void> {
    this.#schemaCopyCollector.stop();
    this.#bindingRecords.stop();
    this.#exportRecords.stop();
    this.#replicaExports?.stop();
    this.#sliceRecords.stop();
    await Promise.all([
      this.#controller.stop(),
      this.#claimLabels.stop(),
      this.#consumerReports?.stop(),
      this.#claimedIdentities?.stop(),
      this.cachedResources.stop(),
    ]);
  }

  /** The URL under which clients reach this server, without a path. */
  set externalUrl(url: string) {
    this.#externalUrl = url;
    this.#requeueSlices(this.#endpointSlices.all());
    this.cachedResources.onExternalUrl();
  }

  get externalUrl(): string {
    return this.#externalUrl;
  }

  /** Creates the built-in exports of root on the shard that has it. It must have its namespaces. */
  async bootstrap(): Promise<void> {
    if (this.dependencies.replicas?.shardOf(rootCluster) === undefined)
      await bootstrapExports(this.dependencies);
  }

  /** Binds a new workspace to the default APIBindings of its type. */
  createDefaultBindings(
    cluster: ClusterName,
    path: string,
    wanted: readonly DefaultBinding[],
  ): Promise<void> {
    return createDefaultBindings(this.dependencies, cluster, path, wanted);
  }

  /** Whether the creation of a new workspace binds all of these exports completely. */
  areDefaultBindingsComplete(
    cluster: ClusterName,
    wanted: readonly DefaultBinding[],
  ): Promise<boolean> {
    return areDefaultBindingsComplete(this.dependencies, cluster, wanted);
  }

  /** The state of the default bindings of an existing logical cluster. */
  defaultBindingsStateOf(
    cluster: ClusterName,
    wanted: readonly DefaultBinding[],
  ): Promise<DefaultBindingsState> {
    return defaultBindingsStateOf(this.dependencies, cluster, wanted);
  }

  /** Adds the missing default bindings to an existing logical cluster. */
  async maintainDefaultBindings(
    cluster: ClusterName,
    path: string,
    wanted: readonly DefaultBinding[],
  ): Promise<void> {
    await this.dependencies.loading();
    await createDefaultBindings(this.dependencies, cluster, path, wanted);
    for (const one of wanted)
      this.#controller.bindings.add(keyOf(apiBindings, cluster, defaultBindingName(cluster, one)));
  }

  /**
   * The logical cluster whose roles limit the permissions on a bound resource; undefined without a
   * maximal permission policy.
   */
  maximalPermissionPolicyOf(
    cluster: ClusterName,
    group: string,
    resource: string,
  ): ClusterName | undefined {
    const served = this.dependencies.bindings.inCluster(cluster)?.find(group, resource);
    if (served === undefined) return undefined;
    const exported = this.#exportOf(served.binding);
    return exported?.hasPolicy === true ? exported.cluster : undefined;
  }

  /** Answers another shard that has seen a claim on an identity; of this shard's exports alone. */
  async exportOfIdentity(asked: JsonValue): Promise<JsonValue> {
    await this.dependencies.loading();
    const { identity, group, resource } = isJsonObject(asked) ? asked : {};
    for (const record of this.#exportRecords.values()) {
      const isIt = record.identityHash !== "" && record.identityHash === identity;
      if (isIt && record.resources.some((one) => one.group === group && one.resource === resource))
        return { cluster: record.cluster, name: record.name };
    }
    return null;
  }

  /** Whether a maximal permission policy of a provider limits something on this shard. */
  isPolicyNeeded(provider: ClusterName): boolean {
    for (const { cluster, name, hasPolicy } of this.#replicaExports?.values() ?? [])
      if (
        cluster === provider &&
        hasPolicy &&
        this.dependencies.bindings.hasBindingsTo(cluster, name)
      )
        return true;
    return false;
  }

  get #exportIndexing(): Pick<EagerIndexOptions<ExportRecord>, "definition" | "read" | "onChange"> {
    return {
      definition: apiExports,
      read: readExport,
      onChange: (key, now, before) => this.#onExport(key, now, before),
    };
  }

  get #loading(): Promise<void> | undefined {
    return (
      this.#bindingRecords.loading ?? this.#exportRecords.loading ?? this.#replicaExports?.loading
    );
  }

  #exportOf({ exportCluster, exportName }: BindingRecord): ExportRecord | undefined {
    if (exportCluster === undefined) return undefined;
    return this.dependencies.exports.get(keyOf(apiExports, exportCluster, exportName));
  }

  /**
   * Whether something on this shard refers to an object of another one for as long as it exists.
   */
  isNeeded(definition: ResourceDefinition, cluster: ClusterName, name: string): boolean {
    const { bindings } = this.dependencies;
    if (definition === apiExports)
      return (
        bindings.hasBindingsTo(cluster, name) ||
        this.#claimedIdentities?.isClaimed(keyOf(apiExports, cluster, name)) === true
      );
    if (definition !== apiResourceSchemas) return false;
    for (const record of this.#replicaExports?.values() ?? [])
      if (record.cluster === cluster && record.resources.some(({ schema }) => schema === name))
        return true;
    return false;
  }

  #onBinding(
    key: StorageKey,
    now: BindingRecord | undefined,
    before: BindingRecord | undefined,
  ): void {
    const { bindings } = this.dependencies;
    const wasUsed = usesOf(bindings, before ?? now);
    bindings.change(now, before);
    this.#claimLabels.change(now, before);
    for (const { schemaUid } of before?.bound ?? [])
      if (!bindings.isUsed(schemaUid)) this.#schemaCopyCollector.markUnused(schemaUid);
    this.#controller.bindings.add(key);
    const { cluster } = (now ?? before) as BindingRecord;
    this.dependencies.onBinding(cluster);
    this.cachedResources.onServedIn(cluster);
    if (usesOf(bindings, now ?? before) !== wasUsed) this.#requeueSlicesOf(now ?? before);
    if (now !== undefined && now.bound === before?.bound) return;
    // A name that this binding releases may unblock another binding.
    this.#requeueBindings(cluster, key);
  }

  /**
   * Requeues the bindings of a cluster that lack a resource, or may lose a resource to an earlier
   * binding.
   */
  #requeueBindings(cluster: ClusterName, except: StorageKey | undefined): void {
    for (const { name } of this.dependencies.bindings.inCluster(cluster)?.records.values() ?? []) {
      const key = keyOf(apiBindings, cluster, name);
      if (key !== except) this.#controller.bindings.add(key);
    }
  }

  #requeueSlicesOf(binding: BindingRecord | undefined): void {
    if (binding?.exportCluster === undefined) return;
    this.#consumerReports?.add(keyOf(apiExports, binding.exportCluster, binding.exportName));
    this.#requeueSlices(this.#endpointSlices.ofExport(binding.exportName));
    this.cachedResources.onExport(binding.exportName);
  }

  #requeueSlices(keys: Iterable<StorageKey>): void {
    for (const key of keys) this.#controller.slices.add(key);
  }

  #onEndpointSlice(
    key: StorageKey,
    now: EndpointSliceRecord | undefined,
    before: EndpointSliceRecord | undefined,
  ): void {
    this.#endpointSlices.change(key, now, before);
    // Slices that exist at the start are reconciled once the external URL of this server is known.
    if (now !== undefined && !this.#isStarting) this.#controller.slices.add(key);
  }

  #onExport(
    key: StorageKey,
    now: ExportRecord | undefined,
    before: ExportRecord | undefined,
  ): void {
    const { cluster, name } = parseObjectKey(key);
    if (this.#exports instanceof SharedExports) this.#exports.change(key, now, before);
    this.#claimedIdentities?.onExport(now);
    this.#retirements.get(key)?.retire();
    this.#retirements.delete(key);
    if (this.#replicaExports?.get(key) !== undefined) this.#consumerReports?.add(key);
    else if (now !== undefined) this.#controller.exports.add(key);
    this.#requeueSlices(this.#endpointSlices.ofExport(name));
    this.cachedResources.onExport(name);
    const { bindings } = this.dependencies;
    for (const binding of bindings.toExport(cluster, name)) this.#requeueExport(binding);
    for (const binding of bindings.withUnresolvedExport(name)) this.#requeueExport(binding);
  }

  #requeueExport({ cluster, name }: BindingRecord): void {
    this.#controller.bindings.add(keyOf(apiBindings, cluster, name));
  }

  #onExportChanged(record: ExportRecord, callback: () => void): () => void {
    const key = keyOf(apiExports, record.cluster, record.name);
    const known = this.dependencies.exports.get(key);
    if (known !== record) {
      callback();
      return () => {};
    }
    const retirement = this.#retirements.get(key) ?? new RetirementNotifier();
    this.#retirements.set(key, retirement);
    return retirement.onRetired(callback);
  }

  #listen(): void {
    this.#watchClaims(secrets, (key) => {
      this.#controller.onSecret(key);
      this.cachedResources.onSecret(key);
    });
    this.#watchClaims(customResourceDefinitions, (key) => {
      const { cluster } = parseObjectKey(key);
      // A name that a CRD releases may unblock a binding.
      this.#requeueBindings(cluster, undefined);
      this.cachedResources.onServedIn(cluster);
    });
    this.#watchClaims(partitions, (key) => {
      this.#requeueSlices(this.#endpointSlices.ofPartition(key));
      this.cachedResources.onPartition(key);
    });
    this.#watchClaims(shards, () => {
      const hasOthers = this.dependencies.replicas !== undefined;
      this.#requeueSlices(
        hasOthers ? this.#endpointSlices.all() : this.#endpointSlices.partitioned(),
      );
      this.cachedResources.onShards();
    });
    if (this.dependencies.replicas !== undefined) this.#listenToReplicas();
    this.#watchClaims(apiResourceSchemas, (key, event) => {
      if (key.startsWith(copiesPrefix)) this.#schemaCopyCollector.onEvent(event);
      else this.#onSchema(parseObjectKey(key).cluster);
    });
  }

  #listenToReplicas(): void {
    const { hub } = this.dependencies.watchCache;
    followReplicas(hub, apiResourceSchemas, ({ key }) =>
      this.#onSchema(parseObjectKey(key).cluster),
    );
    followReplicas(hub, shards, () => {
      this.#requeueSlices(this.#endpointSlices.all());
      this.cachedResources.onShards();
    });
  }

  /** A schema that is created late completes the exports of its workspace. */
  #onSchema(cluster: ClusterName): void {
    for (const record of this.dependencies.exports.values()) {
      if (record.cluster !== cluster) continue;
      for (const binding of this.dependencies.bindings.toExport(cluster, record.name))
        this.#requeueExport(binding);
    }
  }

  #watchClaims(
    definition: ResourceDefinition,
    onChange: (key: StorageKey, event: HubEvent) => void,
  ): void {
    const listen = () => {
      this.dependencies.watchCache.hub.listen(resourcePrefix(collectionKeyOf(definition)), {
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
