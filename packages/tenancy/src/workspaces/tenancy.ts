/** The room put together: what the server starts, stops and asks about workspaces and logical clusters. */

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
import { BindingsInitializer } from "./bindings-initializer.ts";
import { bootstrapRoot, type RootBootstrapOptions } from "./bootstrap.ts";
import { terminatingClusterAdmission } from "./closing-gate.ts";
import { GeneratedNames } from "./fresh-names.ts";
import { type HomeWorkspaceOptions, homeWorkspace } from "./home-workspace.ts";
import {
  logicalClusters,
  shards,
  systemWrite,
  workspaceAuthenticationConfigurations,
  workspaces,
  workspaceTypes,
} from "./kinds/definitions.ts";
import { WorkspaceLifecycleController } from "./lifecycle.ts";
import { logicalClusterAdmission } from "./logical-cluster-admission.ts";
import {
  DefaultApiBindingLifecycleController,
  type MaintainedBindingSet,
} from "./maintained-bindings.ts";
import { externalUrlUpdates } from "./new-address.ts";
import { universalInitializer } from "./new-logical-cluster.ts";
import { ObjectIndex } from "./object-index.ts";
import {
  clusterScoped,
  logicalClusterKey,
  type NamespaceDefaults,
  shardKey,
  systemWriteOptions,
  type TenancyDependencies,
} from "./parts.ts";
import { pathAnnotation } from "./path-annotation.ts";
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
import { typeAdmission } from "./type-admission.ts";
import { scheduleAgain, workspaceAdmission } from "./workspace-admission.ts";
import { workspacePrerequisites } from "./workspace-companions.ts";
import { type PathResolution, WorkspaceTree } from "./workspace-tree.ts";
import { bindingsInitializer, WorkspaceTypes } from "./workspace-types.ts";

export interface TenancyOptions {
  readonly storage: Storage;
  readonly supervisor: Supervisor;
  readonly registry: Registry;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly mayUse: TenancyDependencies["mayUse"];
  readonly bindDefaults: TenancyDependencies["bindDefaults"];
  readonly keepDefaults: TenancyDependencies["keepDefaults"];
  readonly defaultsComplete: TenancyDependencies["defaultsComplete"];
  readonly defaultsIn: TenancyDependencies["defaultsIn"];
  readonly kindIn: TenancyDependencies["kindIn"];
  /** Everything else that logical clusters have without defining it themselves. */
  readonly builtIns: readonly ResourceDefinition[];
  /** What root begins with, where it is not as usual. */
  readonly root?: RootBootstrapOptions | undefined;
  /** Whether users have homes; they do if it is left out. */
  readonly homeWorkspaces?: boolean | undefined;
  readonly onError: (error: unknown) => void;
}

/** Initializers that are done when a workspace is stored. */
const ownInitializers: ReadonlySet<string> = new Set([universalInitializer, bindingsInitializer]);

/** A few KiB each. */
const authenticationRecordsMax = 500;

export class Tenancy {
  /** Served in every logical cluster. */
  readonly resources: readonly ResourceDefinition[];
  /** Served in root alone. */
  readonly rootResources: readonly ResourceDefinition[] = [shards];
  readonly admissionPlugins: readonly AdmissionPlugin[];
  readonly #parts: TenancyDependencies;
  readonly #lifecycle: WorkspaceLifecycleController;
  readonly #maintained: DefaultApiBindingLifecycleController;
  readonly #bindingsInitializer: BindingsInitializer;
  readonly #authenticationIndex: ObjectIndex<AuthenticationRecord>;
  readonly #home: HomeWorkspaceOptions;
  readonly #root: RootBootstrapOptions | undefined;
  /** Whether `~` in root is the home of whoever asks. */
  readonly hasHomes: boolean;
  readonly #onError: (error: unknown) => void;
  #externalUrl = "https://localhost:6443";
  /** Nothing, where nobody looks after it. */
  namespaceContent: NamespaceDefaults = () => [];

  constructor(options: TenancyOptions) {
    const { random, builtIns, onError } = options;
    this.#onError = onError;
    this.#root = options.root;
    this.hasHomes = options.homeWorkspaces !== false;
    this.#parts = this.#assemble(options);
    this.#authenticationIndex = new ObjectIndex({
      watchCache: options.watchCache,
      definition: workspaceAuthenticationConfigurations,
      read: readAuthentication,
      recordsMax: authenticationRecordsMax,
    });
    this.#bindingsInitializer = new BindingsInitializer({ parts: this.#parts, onError });
    const externalUrl = () => this.#externalUrl;
    this.#home = { ...this.#parts, ownInitializers, externalUrl };
    const freshNames = new GeneratedNames();
    const companions = workspacePrerequisites({
      ...this.#home,
      freshNames,
      begins: (cluster) => this.#lifecycle.begins(cluster),
      discard: (cluster) => this.#lifecycle.discard(cluster),
      suspect: (cluster) => this.#lifecycle.suspect(cluster),
    });
    const ownWorkspaces = { ...workspaces, companions };
    this.resources = [
      logicalClusters,
      workspaceAuthenticationConfigurations,
      ownWorkspaces,
      workspaceTypes,
    ];
    const admission = { ...this.#parts, random, ownInitializers, freshNames };
    this.#lifecycle = new WorkspaceLifecycleController({
      parts: this.#parts,
      definitions: [...builtIns, ...this.resources],
      onError,
      onSeen: (entry) => this.#bindingsInitializer.look(entry),
      reschedule: async (cluster, name) => {
        const placed = await scheduleAgain(admission, cluster, name);
        if (placed === undefined) return;
        const made = await companions.make(placed, cluster, undefined);
        await this.#replace(cluster, name, placed);
        made?.keep();
      },
    });
    this.#maintained = new DefaultApiBindingLifecycleController({
      parts: this.#parts,
      survey: (looks) => this.#lifecycle.survey(looks),
      onError,
    });
    this.admissionPlugins = [
      terminatingClusterAdmission((cluster) => this.#isClosing(cluster)),
      typeAdmission({ clock: options.clock, externalUrl }),
      logicalClusterAdmission,
      shardAdmission,
      workspaceAdmission(admission),
      pathAnnotation(this.#parts),
    ];
  }

  /** The hub must be open. */
  start(): void {
    this.#lifecycle.start();
    this.#maintained.start();
  }

  async stop(): Promise<void> {
    await this.#lifecycle.stop();
    await this.#maintained.stop();
    await this.#bindingsInitializer.stop();
  }

  /** An APIBinding of a logical cluster came, went or changed. */
  bindingChanged(cluster: ClusterName): void {
    this.#bindingsInitializer.bindingChanged(cluster);
  }

  /** Default bindings that a logical cluster keeps. */
  maintainedIn(cluster: ClusterName): Promise<MaintainedBindingSet> {
    return this.#maintained.in(cluster);
  }

  /** Makes what root begins with. `externalUrl` is where clients reach this server, without a path. */
  async bootstrap(externalUrl: string): Promise<void> {
    this.#externalUrl = externalUrl;
    const isMoved = await bootstrapRoot(this.#parts, externalUrl, this.#root);
    if (isMoved)
      void this.#lifecycle.survey(externalUrlUpdates(this.#parts, externalUrl, this.#onError));
  }

  /** A user's home, as a Workspace; made when they first ask for it. */
  home(user: UserInfo): Promise<JsonObject> {
    return homeWorkspace(this.#home, user);
  }

  /** Of the shard that this server is. */
  async shardLabels(): Promise<Readonly<Record<string, string>>> {
    return (await this.#parts.shardIndex.get(shardKey))?.labels ?? {};
  }

  /** From a path to a logical cluster; without a promise when its workspaces were used lately. */
  resolve(path: ClusterPath): MaybePromise<PathResolution> {
    return this.#parts.tree.resolve(path);
  }

  /** What is behind an address of this server, the slash included; undefined when it is another's. */
  ownTarget(url: string): string | undefined {
    return url.startsWith(`${this.#externalUrl}/`)
      ? url.slice(this.#externalUrl.length)
      : undefined;
  }

  /** Its users are kept out until somebody says otherwise. */
  isInactive(cluster: ClusterName): MaybePromise<boolean> {
    const { inactive, hasSeenAll } = this.#lifecycle;
    if (hasSeenAll || inactive.has(cluster)) return inactive.size > 0 && inactive.has(cluster);
    return this.#whether(cluster, ({ phase }) => phase === "Inactive");
  }

  /** How many objects it is said to have room for; undefined when nothing is said of it. */
  objectLimitOf(cluster: ClusterName): MaybePromise<number | undefined> {
    const { limited, hasSeenAll } = this.#lifecycle;
    if (hasSeenAll && (limited.size === 0 || !limited.has(cluster))) return undefined;
    const record = this.logicalCluster(cluster);
    return record instanceof Promise ? record.then((one) => one?.objectsMax) : record?.objectsMax;
  }

  /** It is not ready yet. One that nobody made as a workspace is from the beginning. */
  isBootstrapping(cluster: ClusterName): MaybePromise<boolean> {
    return this.#whether(cluster, ({ phase }) => phase !== "Ready");
  }

  /** It is being emptied, or will be when it is its turn. */
  #isClosing(cluster: ClusterName): MaybePromise<boolean> {
    const { closing, hasSeenAll } = this.#lifecycle;
    if (hasSeenAll || closing.has(cluster)) return closing.has(cluster);
    return this.#whether(
      cluster,
      ({ isDeleted, terminators }) => isDeleted && terminators.length === 0,
    );
  }

  /** False of one that is not there. */
  #whether(
    cluster: ClusterName,
    is: (record: LogicalClusterRecord) => boolean,
  ): MaybePromise<boolean> {
    const record = this.logicalCluster(cluster);
    if (record instanceof Promise) return record.then((one) => one !== undefined && is(one));
    return record !== undefined && is(record);
  }

  /** False when nobody has put anything there, as far as the hub has come: then it need not be read. */
  mayHave(cluster: ClusterName, collection: ResourceKey): boolean {
    return this.#lifecycle.mayHave(cluster, collection);
  }

  logicalCluster(cluster: ClusterName): MaybePromise<LogicalClusterRecord | undefined> {
    return this.#parts.logicalClusterIndex.get(logicalClusterKey(cluster));
  }

  /** Whose tokens are believed in it, besides those that are believed everywhere. */
  async authenticationIn(cluster: ClusterName): Promise<readonly AuthenticationRecord[]> {
    const { types } = this.#parts;
    const type = (await this.logicalCluster(cluster))?.type;
    const at = type?.lastIndexOf(":") ?? -1;
    if (type === undefined || at < 0) return [];
    const found = await types.find(type.slice(0, at), type.slice(at + 1));
    const names = found?.authenticationConfigurations ?? [];
    const records = names.map((name) =>
      this.#authenticationIndex.get(
        objectKey({
          ...collectionKeyOf(workspaceAuthenticationConfigurations),
          ...{ cluster: found?.cluster as ClusterName, namespace: "", name },
        }),
      ),
    );
    return (await Promise.all(records)).filter((one) => one !== undefined);
  }

  #assemble(options: TenancyOptions): TenancyDependencies {
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
      onChange: (event: HubEvent) => this.#maintained.onType(event),
    });
    const shardIndex = new ObjectIndex({
      watchCache,
      definition: shards,
      read: readShard,
      onChange: () => this.#lifecycle.retryUnscheduled(),
    });
    const tree = new WorkspaceTree(workspaceIndex);
    const types = new WorkspaceTypes(typeIndex, tree);
    return {
      ...options,
      ...{ workspaceIndex, logicalClusterIndex, typeIndex, shardIndex, tree, types },
      namespaceContent: (namespace) => this.namespaceContent(namespace),
    };
  }

  async #replace(cluster: ClusterName, name: string, placed: JsonObject): Promise<void> {
    const build = async (old: JsonObject | undefined) => {
      const draft: Draft = { ...old };
      // Whoever was faster has put it somewhere: what we made has no owner then, and goes.
      if (member(draft, "spec")["cluster"] !== undefined) return draft;
      return { ...placed } as Draft;
    };
    const rules = { ...systemWriteOptions, subresource: systemWrite, isDerived: true };
    await this.#parts.registry.update(workspaces, clusterScoped(cluster, name), build, rules);
  }
}
