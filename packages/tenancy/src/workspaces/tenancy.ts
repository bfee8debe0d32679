/**
 * Composes tenancy: the server starts, stops and queries workspaces and logical clusters through
 * this class.
 */
import type { AdmissionPlugin } from "@kcp-ts/apiserver/admission";
import {
  collectionKeyOf,
  type Draft,
  type Registry,
  type ResourceDefinition,
} from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import { objectKey, type ResourceKey, type Storage } from "@kcp-ts/apiserver/storage";
import type { HubEvent, WatchCache } from "@kcp-ts/apiserver/watch-cache";
import type { Clock, Random, Supervisor } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName, ClusterPath } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { followReplicas, type Replicas } from "../replicas/index.ts";
import { type Operations, type PathResolution, rootShard, type Shards } from "../shards/index.ts";
import { BindingsInitializer } from "./bindings-initializer.ts";
import { bootstrapCopyOfRoot, bootstrapRoot, type RootBootstrapOptions } from "./bootstrap.ts";
import { clusterOperations } from "./cluster-operations.ts";
import { universalInitializer } from "./create-logical-cluster.ts";
import {
  DefaultApiBindingLifecycleController,
  type MaintainedBindingSet,
} from "./default-api-binding-lifecycle-controller.ts";
import {
  clusterScoped,
  logicalClusterKey,
  type NamespaceDefaults,
  shardKey,
  systemWriteOptions,
  type TenancyDependencies,
} from "./dependencies.ts";
import { externalUrlUpdates, typeUrlUpdates } from "./external-url-updates.ts";
import { GeneratedNames } from "./generated-names.ts";
import { type HomeWorkspaceOptions, homeWorkspace } from "./home-workspace.ts";
import {
  logicalClusters,
  shards,
  systemWrite,
  workspaceAuthenticationConfigurations,
  workspaces,
  workspaceTypes,
} from "./kinds/definitions.ts";
import { logicalClusterAdmission } from "./logical-cluster-admission.ts";
import { pathAnnotation, terminatingClusterAdmission } from "./object-admission.ts";
import { ObjectIndex } from "./object-index.ts";
import {
  type AuthenticationRecord,
  type LogicalClusterRecord,
  member,
  readAuthentication,
  readLogicalCluster,
  readWorkspace,
  readWorkspaceType,
} from "./records.ts";
import { readShard } from "./shard.ts";
import { shardAdmission } from "./shard-admission.ts";
import { ShardMembers } from "./shard-members.ts";
import { type RecordSource, sharedRecords } from "./shared-records.ts";
import { typeAdmission } from "./type-admission.ts";
import { scheduleAgain, workspaceAdmission } from "./workspace-admission.ts";
import { WorkspaceLifecycleController } from "./workspace-lifecycle-controller.ts";
import { workspacePrerequisites } from "./workspace-prerequisites.ts";
import { type PathsElsewhere, WorkspaceTree } from "./workspace-tree.ts";
import { bindingsInitializer, WorkspaceTypes } from "./workspace-types.ts";

export interface TenancyOptions {
  readonly storage: Storage;
  readonly supervisor: Supervisor;
  readonly registry: Registry;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly mayUse: TenancyDependencies["mayUse"];
  readonly createDefaultBindings: TenancyDependencies["createDefaultBindings"];
  readonly maintainDefaultBindings: TenancyDependencies["maintainDefaultBindings"];
  readonly areDefaultBindingsComplete: TenancyDependencies["areDefaultBindingsComplete"];
  readonly defaultBindingsStateOf: TenancyDependencies["defaultBindingsStateOf"];
  readonly definitionOfKind: TenancyDependencies["definitionOfKind"];
  /** All other kinds that logical clusters have without a CRD of their own. */
  readonly builtIns: readonly ResourceDefinition[];
  /** Options of the initial content of root. */
  readonly root?: RootBootstrapOptions | undefined;
  /** Whether users have home workspaces; true if omitted. */
  readonly homeWorkspaces?: boolean | undefined;
  /** The objects of other shards; undefined for the only shard. */
  readonly replicas?: Replicas | undefined;
  /** The other shards; this server is the only one if omitted. */
  readonly shards?: Shards | undefined;
  readonly onError: (error: unknown) => void;
}

/** A path to what this shard uses is known while the shard that resolves it does not answer. */
function elsewhereOf({ routes, paths }: Shards, replicas: Replicas | undefined): PathsElsewhere {
  return {
    shardOf: (cluster) => routes.shardOf(cluster),
    resolve: (cluster, words) => {
      const found = paths.resolve(cluster, words);
      if (!(found instanceof Promise)) return found;
      return found.catch((error: unknown): PathResolution => {
        const known = replicas?.clusterAt([cluster, ...words].join(":"));
        if (known === undefined || !isStatusError(error, "ServiceUnavailable")) throw error;
        return { kind: "cluster", cluster: known };
      });
    },
  };
}

/** Initializers that are done before a workspace is stored. */
const ownInitializers: ReadonlySet<string> = new Set([universalInitializer, bindingsInitializer]);

/** A few KiB each. */
const authenticationRecordsMax = 500;

export class Tenancy {
  /** Resources that are served in every logical cluster. */
  readonly resources: readonly ResourceDefinition[];
  /** Resources that are served in root alone. */
  readonly rootResources: readonly ResourceDefinition[] = [shards];
  readonly admissionPlugins: readonly AdmissionPlugin[];
  readonly #dependencies: TenancyDependencies;
  readonly #lifecycle: WorkspaceLifecycleController;
  readonly #defaultBindingLifecycle: DefaultApiBindingLifecycleController;
  readonly #bindingsInitializer: BindingsInitializer;
  readonly #authentications: RecordSource<AuthenticationRecord>;
  readonly #homeOptions: HomeWorkspaceOptions;
  readonly #root: RootBootstrapOptions | undefined;
  /** Whether `~` in root is the home workspace of the requesting user. */
  readonly hasHomeWorkspaces: boolean;
  readonly #onError: (error: unknown) => void;
  readonly #ownShard: string | undefined;
  readonly #members: ShardMembers | undefined;
  #externalUrl = "https://localhost:6443";
  /** Empty until a controller that maintains default objects sets it. */
  namespaceDefaults: NamespaceDefaults = () => [];

  constructor(options: TenancyOptions) {
    const { random, builtIns, onError } = options;
    this.#onError = onError;
    this.#root = options.root;
    this.#ownShard = options.shards?.routes.ownName;
    this.#members = options.shards && this.#makeMembers(options.shards, options);
    this.hasHomeWorkspaces = options.homeWorkspaces !== false;
    this.#dependencies = this.#composeDependencies(options);
    const ownAuthentications = new ObjectIndex({
      watchCache: options.watchCache,
      definition: workspaceAuthenticationConfigurations,
      read: readAuthentication,
      recordsMax: authenticationRecordsMax,
    });
    this.#authentications = sharedRecords(
      ownAuthentications,
      options.replicas,
      workspaceAuthenticationConfigurations,
      readAuthentication,
    );
    this.#bindingsInitializer = new BindingsInitializer({
      dependencies: this.#dependencies,
      onError,
    });
    const externalUrl = () => this.#externalUrl;
    options.shards?.provide(this.#clusterOperations());
    this.#homeOptions = { ...this.#dependencies, ownInitializers, externalUrl };
    const generatedNames = new GeneratedNames();
    const prerequisites = workspacePrerequisites({
      ...this.#homeOptions,
      generatedNames,
      trackNewCluster: (cluster) => this.#lifecycle.trackNewCluster(cluster),
      deleteUnowned: (cluster) => this.#lifecycle.deleteUnowned(cluster),
      scheduleOrphanCheck: (cluster) => this.#lifecycle.scheduleOrphanCheck(cluster),
    });
    const ownWorkspaces = { ...workspaces, prerequisites };
    this.resources = [
      logicalClusters,
      workspaceAuthenticationConfigurations,
      ownWorkspaces,
      workspaceTypes,
    ];
    const admission = { ...this.#dependencies, random, ownInitializers, generatedNames };
    this.#lifecycle = new WorkspaceLifecycleController({
      dependencies: this.#dependencies,
      definitions: [...builtIns, ...this.resources],
      onError,
      onListed: (entry) => this.#bindingsInitializer.enqueueIfInitializing(entry),
      reschedule: async (cluster, name) => {
        const placed = await scheduleAgain(admission, cluster, name);
        if (placed === undefined) return;
        const made = await prerequisites.create(placed, cluster, undefined);
        await this.#replace(cluster, name, placed);
        made?.commit();
      },
    });
    this.#defaultBindingLifecycle = new DefaultApiBindingLifecycleController({
      dependencies: this.#dependencies,
      scan: (looks) => this.#lifecycle.scan(looks),
      onError,
    });
    this.admissionPlugins = [
      terminatingClusterAdmission(this),
      typeAdmission({ clock: options.clock, serviceUrls: () => this.#serviceUrls }),
      logicalClusterAdmission,
      shardAdmission,
      workspaceAdmission(admission),
      pathAnnotation(this.#dependencies),
    ];
  }

  /** The hub must be open. */
  start(): void {
    this.#lifecycle.start();
    this.#defaultBindingLifecycle.start();
  }

  async stop(): Promise<void> {
    this.#members?.stop();
    await this.#lifecycle.stop();
    await this.#defaultBindingLifecycle.stop();
    await this.#bindingsInitializer.stop();
  }

  /** Called when an APIBinding of a logical cluster is created, deleted or changed. */
  onBindingChanged(cluster: ClusterName): void {
    this.#bindingsInitializer.onBindingChanged(cluster);
  }

  /** The maintained default bindings of a logical cluster. */
  maintainedBindingsIn(cluster: ClusterName): Promise<MaintainedBindingSet> {
    return this.#defaultBindingLifecycle.maintainedIn(cluster);
  }

  /**
   * Creates the initial content of root. `externalUrl` is the URL under which clients reach this
   * server, without a path.
   */
  async bootstrap(externalUrl: string): Promise<void> {
    this.#externalUrl = externalUrl;
    const hasRoot = (this.#ownShard ?? rootShard) === rootShard;
    const isMoved = hasRoot
      ? await bootstrapRoot(this.#dependencies, externalUrl, this.#root)
      : await bootstrapCopyOfRoot(this.#dependencies, externalUrl, this.#root);
    if (isMoved)
      void this.#lifecycle.scan(externalUrlUpdates(this.#dependencies, externalUrl, this.#onError));
    await this.#members?.start();
  }

  /** A user's home as a Workspace; created on the first request. */
  homeWorkspaceOf(user: UserInfo): Promise<JsonObject> {
    return homeWorkspace(this.#homeOptions, user);
  }

  #makeMembers(shards: Shards, options: TenancyOptions): ShardMembers {
    const { watchCache, storage, registry, clock, supervisor } = options;
    return new ShardMembers({
      shards,
      watchCache,
      storage,
      registry,
      clock,
      supervisor,
      externalUrl: () => this.#externalUrl,
      onChange: () => {
        this.#lifecycle.retryUnscheduled();
        const task = typeUrlUpdates(this.#dependencies, this.#serviceUrls, this.#onError);
        void this.#lifecycle.scan([task]);
      },
      onError: this.#onError,
    });
  }

  get #serviceUrls(): readonly string[] {
    const urls = this.#members?.serviceUrls ?? [];
    return urls.length > 0 ? urls : [this.#externalUrl];
  }

  /** What other shards ask about logical clusters of this one, and about Workspaces in them. */
  #clusterOperations(): Operations {
    return clusterOperations({
      dependencies: this.#dependencies,
      enqueue: (key) => this.#lifecycle.enqueue(key),
      trackNewCluster: (cluster) => this.#lifecycle.trackNewCluster(cluster),
      scheduleOrphanCheck: (cluster) => this.#lifecycle.scheduleOrphanCheck(cluster),
      deleteUnowned: (cluster) => this.#lifecycle.deleteUnowned(cluster),
    });
  }

  /** The labels of this server's shard. */
  async shardLabels(): Promise<Readonly<Record<string, string>>> {
    return (await this.#dependencies.shardIndex.get(shardKey))?.labels ?? {};
  }

  /** Resolves a path to a logical cluster; without a promise when its workspaces are indexed. */
  resolve(path: ClusterPath): MaybePromise<PathResolution> {
    return this.#dependencies.tree.resolve(path);
  }

  /**
   * The part of a URL after this server's external URL, with the slash; undefined for another
   * server's URL.
   */
  localTarget(url: string): string | undefined {
    return url.startsWith(`${this.#externalUrl}/`)
      ? url.slice(this.#externalUrl.length)
      : undefined;
  }

  /** Whether the cluster is closed to its users until an administrator reopens it. */
  isInactive(cluster: ClusterName): MaybePromise<boolean> {
    const { inactive, hasSynced } = this.#lifecycle;
    if (hasSynced || inactive.has(cluster)) return inactive.size > 0 && inactive.has(cluster);
    return this.#checkRecord(cluster, ({ phase }) => phase === "Inactive");
  }

  /** The object limit of the cluster; undefined when it is not set. */
  async objectLimitOf(cluster: ClusterName): Promise<number | undefined> {
    const { withObjectLimit, hasSynced } = this.#lifecycle;
    if (hasSynced && !withObjectLimit.has(cluster)) return undefined;
    const record = await this.logicalCluster(cluster);
    return record?.objectsMax;
  }

  /**
   * Whether the cluster is not ready yet. A cluster that was not created as a workspace is ready
   * from the beginning.
   */
  async isBootstrapping(cluster: ClusterName): Promise<boolean> {
    return this.#checkRecord(cluster, ({ phase }) => phase !== "Ready");
  }

  /** Whether the cluster is being emptied, or queued for it. */
  async isTerminating(cluster: ClusterName): Promise<boolean> {
    const { terminating, hasSynced } = this.#lifecycle;
    const isKnown = terminating.clusters.has(cluster);
    if (hasSynced || isKnown) return isKnown;
    return this.#checkRecord(
      cluster,
      ({ isDeleted, terminators }) => isDeleted && terminators.length === 0,
    );
  }

  /** False for a cluster that does not exist. */
  #checkRecord(
    cluster: ClusterName,
    is: (record: LogicalClusterRecord) => boolean,
  ): MaybePromise<boolean> {
    const record = this.logicalCluster(cluster);
    if (record instanceof Promise) return record.then((one) => one !== undefined && is(one));
    return record !== undefined && is(record);
  }

  /**
   * False when the collection had no object up to the hub's revision: a read is unnecessary then.
   */
  mayContain(cluster: ClusterName, collection: ResourceKey): boolean {
    return this.#lifecycle.mayContain(cluster, collection);
  }

  logicalCluster(cluster: ClusterName): MaybePromise<LogicalClusterRecord | undefined> {
    return this.#dependencies.logicalClusterIndex.get(logicalClusterKey(cluster));
  }

  /** The authentication configurations that apply in the cluster in addition to the global ones. */
  async authenticationConfigurationsIn(
    cluster: ClusterName,
  ): Promise<readonly AuthenticationRecord[]> {
    const { types } = this.#dependencies;
    const type = (await this.logicalCluster(cluster))?.type;
    const at = type?.lastIndexOf(":") ?? -1;
    if (type === undefined || at < 0) return [];
    const found = await types.find(type.slice(0, at), type.slice(at + 1));
    const names = found?.authenticationConfigurations ?? [];
    const records = names.map((name) =>
      this.#authentications.get(
        objectKey({
          ...collectionKeyOf(workspaceAuthenticationConfigurations),
          cluster: found?.cluster as ClusterName,
          namespace: "",
          name,
        }),
      ),
    );
    return (await Promise.all(records)).filter((one) => one !== undefined);
  }

  #composeDependencies(options: TenancyOptions): TenancyDependencies {
    const { watchCache } = options;
    const workspaceIndex = new ObjectIndex({
      watchCache,
      definition: workspaces,
      read: readWorkspace,
      onChange: (event: HubEvent) => this.#lifecycle.onWorkspace(event),
    });
    const logicalClusterIndex = new ObjectIndex({
      watchCache,
      definition: logicalClusters,
      read: readLogicalCluster,
      onChange: (event: HubEvent) => {
        this.#lifecycle.onLogicalCluster(event);
        this.#bindingsInitializer.onLogicalCluster(event);
      },
    });
    const typeIndex = new ObjectIndex({
      watchCache,
      definition: workspaceTypes,
      read: readWorkspaceType,
      onChange: (event: HubEvent) => this.#defaultBindingLifecycle.onType(event),
    });
    const shardIndex = new ObjectIndex({
      watchCache,
      definition: shards,
      read: readShard,
      onChange: () => this.#lifecycle.retryUnscheduled(),
    });
    const { replicas, shards: others } = options;
    if (replicas !== undefined)
      followReplicas(watchCache.hub, workspaceTypes, (event) =>
        this.#defaultBindingLifecycle.onType(event),
      );
    const knownTypes = sharedRecords(typeIndex, replicas, workspaceTypes, readWorkspaceType);
    const tree = new WorkspaceTree(workspaceIndex, others && elsewhereOf(others, replicas));
    const types = new WorkspaceTypes(knownTypes, tree);
    return {
      ...options,
      workspaceIndex,
      logicalClusterIndex,
      typeIndex,
      shardIndex,
      tree,
      types,
      otherShards: others && {
        ownName: others.routes.ownName,
        shardOf: (cluster) => others.routes.shardOf(cluster),
        choose: (wanted) => (this.#members as ShardMembers).choose(wanted),
        ask: (cluster, operation, body) => others.ask(cluster, operation, body),
      },
      namespaceDefaults: (namespace) => this.namespaceDefaults(namespace),
    };
  }

  async #replace(cluster: ClusterName, name: string, placed: JsonObject): Promise<void> {
    const build = async (old: JsonObject | undefined) => {
      const draft: Draft = { ...old };
      // Another server has scheduled the workspace first: the logical cluster that this call
      // created has no owner then, and is deleted.
      if (member(draft, "spec")["cluster"] !== undefined) return draft;
      return { ...placed } as Draft;
    };
    const rules = { ...systemWriteOptions, subresource: systemWrite, isDerivedFromLive: true };
    await this.#dependencies.registry.update(
      workspaces,
      clusterScoped(cluster, name),
      build,
      rules,
    );
  }
}
