/**
 * Reconciles stored workspaces: initializing ones follow their logical cluster, deleted ones delete
 * it, and logical clusters without an owner are deleted.
 *
 * Reconciling is level-based and may be interrupted anywhere: every step reads the stored state,
 * and a start reconciles all of it once. Several servers may run the controller at the same time,
 * because every write is a compare-and-swap.
 */
import type { Draft, ResourceDefinition } from "@kcp-ts/apiserver/registry";
import {
  type Entry,
  isStorageError,
  parseObjectKey,
  type ResourceKey,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import { decodeObject, isBeingDeleted } from "@kcp-ts/apiserver/stored-object";
import type { HubEvent } from "@kcp-ts/apiserver/watch-cache";
import { type JsonObject, textsOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { BackgroundScan, type ScanTask } from "./background-scan.ts";
import { readClusterElsewhere } from "./cluster-operations.ts";
import { hasOnlyWorkspaces, remainingContentCondition } from "./deletion-conditions.ts";
import {
  clusterScoped,
  logicalClusterKey,
  systemWriteOptions,
  type TenancyDependencies,
  uncancelled,
} from "./dependencies.ts";
import { KeyedWorkQueue } from "./keyed-work-queue.ts";
import { type Condition, conditionsOf, setCondition } from "./kinds/conditions.ts";
import {
  logicalClusterName,
  logicalClusters,
  systemWrite,
  workspaceFinalizer,
  workspaces,
} from "./kinds/definitions.ts";
import { deletionFinalizer, phaseLabel, put } from "./kinds/phases.ts";
import {
  isOwnedBy,
  type LogicalClusterOwner,
  logicalClusterOwnerOf,
} from "./logical-cluster-owner.ts";
import { LogicalClusterResourcesDeleter } from "./logical-cluster-resources-deleter.ts";
import { MountController } from "./mount-controller.ts";
import { OwnedClusters } from "./owned-clusters.ts";
import { annotation, member } from "./records.ts";
import { TerminatingClusters } from "./terminating-clusters.ts";
import { initialized } from "./workspace-admission.ts";
import { removeOwnerGroups } from "./workspace-owner.ts";
import { workspaceKey } from "./workspace-tree.ts";

export interface WorkspaceLifecycleOptions {
  readonly dependencies: TenancyDependencies;
  readonly definitions: readonly ResourceDefinition[];
  readonly onError: (error: unknown) => void;
  /** Called for every LogicalCluster that a start lists. */
  readonly onListed: (logicalCluster: Entry) => void;
  /** Schedules a workspace that was unschedulable at its creation. */
  readonly reschedule: (cluster: ClusterName, name: string) => Promise<void>;
}

/** The key of a Workspace or a LogicalCluster. */
type Job = StorageKey;

export class WorkspaceLifecycleController {
  readonly terminating: TerminatingClusters;
  readonly inactive = new Set<ClusterName>();
  /** Logical clusters with an object limit of their own. */
  readonly withObjectLimit = new Set<ClusterName>();
  /**
   * Until the first scan has ended, only changed logical clusters are known: callers have to read
   * others from the store.
   */
  hasSynced = false;
  readonly #options: WorkspaceLifecycleOptions;
  readonly #jobs: KeyedWorkQueue<Job>;
  readonly #resourcesDeleter: LogicalClusterResourcesDeleter;
  readonly #backgroundScan: BackgroundScan;
  readonly #mounts: MountController;

  constructor(options: WorkspaceLifecycleOptions) {
    const { dependencies, definitions, onError } = options;
    this.#options = options;
    this.#resourcesDeleter = new LogicalClusterResourcesDeleter({
      ...dependencies,
      definitions,
      hub: dependencies.watchCache.hub,
    });
    this.#jobs = new KeyedWorkQueue<Job>({
      clock: dependencies.clock,
      onError,
      work: (key) => this.#work(key),
    });
    this.terminating = new TerminatingClusters(dependencies.clock, async (cluster) => {
      await this.#resourcesDeleter.deleteContent(cluster);
      this.#resourcesDeleter.forget(cluster);
    });
    this.#mounts = new MountController({
      ...dependencies,
      requeue: (key) => this.#jobs.add(key),
      update: (entry, change) => this.#update(workspaces, entry, change),
    });
    this.#backgroundScan = new BackgroundScan({
      storage: dependencies.storage,
      supervisor: dependencies.supervisor,
    });
  }

  /** Resumes the work that an earlier process, or another server, left unfinished. */
  start(): void {
    const owned = new OwnedClusters();
    void this.#backgroundScan.run([
      { definition: workspaces, visit: (entry) => this.#inspectWorkspace(entry, owned) },
      {
        definition: logicalClusters,
        visit: (entry) => this.#inspectLogicalCluster(entry, owned),
        onDone: () => {
          owned.clear();
          this.hasSynced = true;
        },
      },
    ]);
  }

  async stop(): Promise<void> {
    this.#backgroundScan.stop();
    this.terminating.stop();
    await this.#jobs.stop();
  }

  scan(looks: readonly ScanTask[]): Promise<void> {
    return this.#backgroundScan.run(looks);
  }

  /** Requeues the workspaces that wait for a shard. */
  retryUnscheduled(): void {
    void this.#backgroundScan.run([
      {
        definition: workspaces,
        visit: (entry) => {
          if (isUnscheduled(decodeObject(entry))) this.#jobs.add(entry.key);
        },
      },
    ]);
  }

  /** Called for a newly generated name. */
  trackNewCluster(cluster: ClusterName): void {
    this.#resourcesDeleter.trackNewCluster(cluster);
  }

  mayContain(cluster: ClusterName, collection: ResourceKey): boolean {
    return this.#resourcesDeleter.mayContain(cluster, collection);
  }

  /**
   * Schedules a check for an owner of a logical cluster, which deletes an orphan; returns a
   * function that cancels the check.
   */
  scheduleOrphanCheck(cluster: ClusterName): () => void {
    const key = logicalClusterKey(cluster);
    this.#jobs.addAfter(key, suspicionMs);
    return () => this.#jobs.remove(key);
  }

  /** Looks at a Workspace or a LogicalCluster of this shard again. */
  enqueue(key: StorageKey): void {
    this.#jobs.add(key);
  }

  /** Deletes at once a logical cluster that never had an owner. */
  async deleteUnowned(cluster: ClusterName): Promise<void> {
    const { registry, otherShards } = this.#options.dependencies;
    if (otherShards?.shardOf(cluster) !== undefined) {
      await otherShards.ask(cluster, "deleteCluster", null);
      return;
    }
    const address = clusterScoped(cluster, logicalClusterName);
    await ignoringMissing(registry.delete(logicalClusters, address, {}, systemWriteOptions));
  }

  onWorkspace({ key, current, previous }: HubEvent): void {
    if (current === undefined) {
      this.#mounts.forget(key);
      const { cluster: parent } = parseObjectKey(key);
      // The parent's logical cluster may wait for the deletion of its last workspace.
      if (this.terminating.clusters.has(parent)) this.#jobs.add(logicalClusterKey(parent));
      const { cluster } = member(decodeObject(previous as Entry), "spec") as { cluster?: string };
      if (cluster === undefined || this.terminating.isDeleted(cluster as ClusterName)) return;
      this.#jobs.add(logicalClusterKey(cluster as ClusterName));
    } else if (isBeingDeleted(current)) this.#jobs.add(key);
    else if (previous === undefined && member(decodeObject(current), "spec")["mount"] !== undefined)
      this.#jobs.add(key);
  }

  onLogicalCluster({ key, current, previous }: HubEvent): void {
    const { cluster } = parseObjectKey(key);
    const object = current === undefined ? undefined : decodeObject(current);
    this.#noteActivity(cluster, object);
    this.#noteLimit(cluster, object);
    if (current === undefined || object === undefined) {
      this.#endWatches(cluster);
      this.terminating.markDeleted(cluster);
      this.#updateOwnerStatus(decodeObject(previous as Entry));
    } else if (isBeingDeleted(current)) this.#jobs.add(key);
    else if (previous === undefined) this.terminating.markRecreated(cluster);
    else this.#updateOwnerStatus(object);
  }

  #inspectWorkspace(entry: Entry, owned: OwnedClusters): void {
    const object = decodeObject(entry);
    const { phase } = member(object, "status");
    const { deletionTimestamp, uid } = member(object, "metadata");
    const { cluster, mount } = member(object, "spec");
    if (cluster !== undefined) owned.add(String(cluster), String(uid));
    if (deletionTimestamp !== undefined || mount !== undefined || phase !== "Ready")
      this.#jobs.add(entry.key);
  }

  #inspectLogicalCluster(entry: Entry, owned: OwnedClusters): void {
    const { cluster } = parseObjectKey(entry.key);
    const object = decodeObject(entry);
    this.#noteActivity(cluster, object);
    this.#options.onListed(entry);
    this.#noteLimit(cluster, object);
    const isDeleted = isBeingDeleted(entry);
    const owner = isDeleted ? undefined : logicalClusterOwnerOf(object);
    if (isDeleted || (owner !== undefined && this.#isSuspicious(cluster, object, owner, owned)))
      this.#jobs.add(entry.key);
  }

  #isSuspicious(
    cluster: ClusterName,
    object: JsonObject,
    owner: LogicalClusterOwner,
    owned: OwnedClusters,
  ): boolean {
    const { otherShards } = this.#options.dependencies;
    if (otherShards?.shardOf(owner.cluster) === undefined) return !owned.has(cluster, owner.uid);
    return this.#ageMs(object) < interruptedMs;
  }

  #ageMs(object: JsonObject): number {
    const created = Date.parse(String(member(object, "metadata")["creationTimestamp"]));
    return this.#options.dependencies.clock.now() - created;
  }

  #noteActivity(cluster: ClusterName, logical: JsonObject | undefined): void {
    if (logical !== undefined && member(logical, "status")["phase"] === "Inactive") {
      if (this.inactive.has(cluster)) return;
      this.inactive.add(cluster);
      this.#endWatches(cluster);
      // A closed cluster must not be readable through wildcard watches either: their clients have
      // to begin new ones.
      this.#endWatches("*");
    } else if (this.inactive.size > 0) this.inactive.delete(cluster);
  }

  #noteLimit(cluster: ClusterName, logical: JsonObject | undefined): void {
    if (logical !== undefined && hasLimit(logical)) this.withObjectLimit.add(cluster);
    else this.withObjectLimit.delete(cluster);
  }

  /** Ends the watches a turn later, so that they still send the last events. */
  #endWatches(cluster: ClusterName | "*"): void {
    const { watchCache } = this.#options.dependencies;
    setImmediate(() => watchCache.endWatchesOfCluster(cluster));
  }

  async #work(key: Job): Promise<number | undefined> {
    const entry = await this.#options.dependencies.watchCache.get(
      key,
      { kind: "latest" },
      uncancelled,
    );
    const { resource, cluster, name } = parseObjectKey(key);
    const { otherShards } = this.#options.dependencies;
    if (otherShards?.shardOf(cluster) !== undefined) {
      if (resource === workspaces.resource) await otherShards.ask(cluster, "lookAtWorkspace", name);
      else await otherShards.ask(cluster, "lookAtCluster", null);
      return undefined;
    }
    if (entry === undefined) return undefined;
    const object = decodeObject(entry);
    return resource === workspaces.resource
      ? this.#reconcileWorkspace(entry, object)
      : this.#reconcileLogicalCluster(cluster, entry, object);
  }

  async #reconcileWorkspace(entry: Entry, object: JsonObject): Promise<number | undefined> {
    const [metadata, spec] = [member(object, "metadata"), member(object, "spec")];
    const cluster = spec["cluster"] as ClusterName | undefined;
    const isDeleted = metadata["deletionTimestamp"] !== undefined;
    if (cluster === undefined) {
      if (isDeleted) await this.#release(workspaces, entry, object, workspaceFinalizer);
      else if (spec["mount"] !== undefined) return this.#mounts.reconcile(entry, object);
      else if (isUnscheduled(object)) {
        const { cluster: parent, name } = parseObjectKey(entry.key);
        await this.#options.reschedule(parent, name);
      }
      return undefined;
    }
    const found = await this.#readLogicalCluster(cluster);
    // The logical cluster of another owner is neither mirrored nor deleted.
    const logical = found !== undefined && isOwnedBy(found, entry.key, object) ? found : undefined;
    if (!isDeleted) return this.#mirrorLogicalCluster(entry, object, logical);
    const finalizers = textsOf(metadata["finalizers"]);
    // Other finalizers are removed first, while the content still exists.
    if (finalizers.some((one) => one !== workspaceFinalizer)) return undefined;
    if (logical === undefined) await this.#release(workspaces, entry, object, workspaceFinalizer);
    else if (member(logical, "metadata")["deletionTimestamp"] === undefined)
      await this.deleteUnowned(cluster);
    else await this.#mirrorLogicalCluster(entry, object, logical);
    return undefined;
  }

  async #readLogicalCluster(cluster: ClusterName): Promise<JsonObject | undefined> {
    const { watchCache, otherShards } = this.#options.dependencies;
    if (otherShards?.shardOf(cluster) !== undefined)
      return readClusterElsewhere(otherShards, cluster);
    if (this.terminating.isDeleted(cluster)) return undefined;
    const key = logicalClusterKey(cluster);
    const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
    return entry === undefined ? undefined : decodeObject(entry);
  }

  /** Copies the phase and conditions of the logical cluster to its Workspace. */
  async #mirrorLogicalCluster(
    entry: Entry,
    object: JsonObject,
    logical: JsonObject | undefined,
  ): Promise<number | undefined> {
    const { clock } = this.#options.dependencies;
    if (logical === undefined) return this.#onLogicalClusterDeleted(entry, object);
    const status = member(logical, "status");
    const old = member(object, "status");
    const waiting = textsOf(status["initializers"]);
    const ending = textsOf(status["terminators"]);
    const content = conditionsOf(status).find(({ type }) => type === "WorkspaceContentDeleted");
    const isSame =
      old["phase"] === status["phase"] &&
      `${old["initializers"] ?? ""}/${old["terminators"] ?? ""}` === `${waiting}/${ending}` &&
      JSON.stringify(contentOf(old)) === JSON.stringify(content);
    if (isSame) return undefined;
    await this.#update(workspaces, entry, (draft) => {
      const next: Draft = { ...member(draft, "status"), phase: status["phase"] ?? "Scheduling" };
      put(next, "initializers", waiting);
      put(next, "terminators", ending);
      let conditions = [...conditionsOf(next)];
      const isPreparing = next["phase"] === "Initializing" || next["phase"] === "Ready";
      if (isPreparing) conditions = setCondition(conditions, initialized(waiting), clock.now());
      if (content !== undefined) {
        conditions = conditions.filter(({ type }) => type !== "WorkspaceContentDeleted");
        conditions.push(content);
      }
      next["conditions"] = conditions;
      draft["status"] = next;
      const metadata = withPhase(member(draft, "metadata"), next["phase"] as string);
      if (next["phase"] === "Ready") removeOwnerGroups(metadata);
      draft["metadata"] = metadata;
    });
    return undefined;
  }

  async #onLogicalClusterDeleted(entry: Entry, object: JsonObject): Promise<number | undefined> {
    const { clock } = this.#options.dependencies;
    const created = Date.parse(String(member(object, "metadata")["creationTimestamp"]));
    const ageMs = clock.now() - created;
    if (ageMs < disappearedAfterMs) return disappearedAfterMs - ageMs;
    await this.#update(workspaces, entry, (draft) => {
      const status = member(draft, "status");
      const cluster = String(member(draft, "spec")["cluster"]);
      const conditions = setCondition(
        conditionsOf(status),
        disappearedCondition(cluster),
        clock.now(),
      );
      draft["status"] = { ...status, phase: "Unavailable", conditions };
      draft["metadata"] = withPhase(member(draft, "metadata"), "Unavailable");
    });
    return undefined;
  }

  async #reconcileLogicalCluster(
    cluster: ClusterName,
    entry: Entry,
    object: JsonObject,
  ): Promise<number | undefined> {
    const metadata = member(object, "metadata");
    if (metadata["deletionTimestamp"] === undefined) return this.#claim(cluster, object);
    if (textsOf(member(object, "status")["terminators"]).length > 0) {
      this.#updateOwnerStatus(object);
      return undefined;
    }
    if (!textsOf(metadata["finalizers"]).includes(deletionFinalizer)) return undefined;
    this.terminating.markTerminating(cluster);
    const left = await this.#resourcesDeleter.deleteContent(cluster);
    if (left.resources.size === 0) {
      await this.#release(logicalClusters, entry, object, deletionFinalizer);
      return undefined;
    }
    const { clock } = this.#options.dependencies;
    const ageMs = clock.now() - Date.parse(String(metadata["deletionTimestamp"]));
    // Child workspaces take a moment to be deleted, and their events requeue this one.
    if (hasOnlyWorkspaces(left) && ageMs < patienceMs) return patienceMs - ageMs;
    const condition = remainingContentCondition(left);
    await this.#update(logicalClusters, entry, (draft) => {
      const status = member(draft, "status");
      const conditions = setCondition(conditionsOf(status), condition, clock.now());
      draft["status"] = { ...status, conditions };
    });
    this.#updateOwnerStatus(object);
    return recheckMs(String(metadata["deletionTimestamp"]), clock.now());
  }

  #updateOwnerStatus(object: JsonObject): void {
    const owner = logicalClusterOwnerOf(object);
    if (owner !== undefined) this.#jobs.add(workspaceKey(owner.cluster, owner.name));
  }

  /** A logical cluster whose Workspace does not exist, or is another one, is an orphan. */
  async #claim(cluster: ClusterName, object: JsonObject): Promise<number | undefined> {
    const owner = logicalClusterOwnerOf(object);
    if (owner === undefined) return undefined;
    const { otherShards } = this.#options.dependencies;
    const ageMs = this.#ageMs(object);
    // The store of another shard may be a backup that was restored: what it lacks is kept here.
    const isElsewhere = otherShards?.shardOf(owner.cluster) !== undefined;
    if (isElsewhere && ageMs >= interruptedMs) return undefined;
    const workspace = await this.#readOwner(owner);
    const uid = workspace === undefined ? undefined : member(workspace, "metadata")["uid"];
    if (uid === owner.uid) return undefined;
    // A LogicalCluster is stored before its Workspace: a young one may still get its owner.
    if (ageMs < suspicionMs) return suspicionMs - ageMs;
    await this.deleteUnowned(cluster);
    return undefined;
  }

  async #readOwner({ cluster, name }: LogicalClusterOwner): Promise<JsonObject | undefined> {
    const { watchCache, otherShards } = this.#options.dependencies;
    if (otherShards?.shardOf(cluster) !== undefined)
      return ((await otherShards.ask(cluster, "readWorkspace", name)) ?? undefined) as
        | JsonObject
        | undefined;
    const key = workspaceKey(cluster, name);
    const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
    return entry === undefined ? undefined : decodeObject(entry);
  }

  /** Removes a finalizer; without the last finalizer the object is deleted. */
  async #release(
    definition: ResourceDefinition,
    entry: Entry,
    object: JsonObject,
    finalizer: string,
  ): Promise<void> {
    const finalizers = textsOf(member(object, "metadata")["finalizers"]);
    if (finalizers.length === 1 && finalizers[0] === finalizer) {
      const { key, modifiedAt: expected } = entry;
      try {
        await this.#options.dependencies.storage.commit(
          { key, value: "delete", expected },
          { signal: uncancelled },
        );
        return;
      } catch (error) {
        if (!isStorageError(error, "conflict")) throw error;
      }
    }
    await this.#update(definition, entry, (draft) => {
      const metadata: Draft = { ...member(draft, "metadata") };
      put(
        metadata,
        "finalizers",
        textsOf(metadata["finalizers"]).filter((one) => one !== finalizer),
      );
      draft["metadata"] = metadata;
    });
  }

  async #update(
    definition: ResourceDefinition,
    { key }: Entry,
    change: (draft: Draft) => void,
  ): Promise<void> {
    const { cluster, name } = parseObjectKey(key);
    const build = async (old: JsonObject | undefined) => {
      const draft: Draft = { ...old };
      change(draft);
      return draft;
    };
    const rules = { ...systemWriteOptions, subresource: systemWrite, isDerivedFromLive: true };
    await ignoringMissing(
      this.#options.dependencies.registry.update(
        definition,
        clusterScoped(cluster, name),
        build,
        rules,
      ),
    );
  }
}

/** Longer than any write in flight may take. */
const suspicionMs = 60_000;
const disappearedAfterMs = 60_000;
/**
 * The age up to which a logical cluster without its Workspace on another shard belongs to a
 * creation that was interrupted.
 */
const interruptedMs = 3_600_000;

function disappearedCondition(cluster: string): Condition {
  return {
    type: "WorkspaceInitialized",
    status: "False",
    severity: "Error",
    reason: "WorkspaceDisappeared",
    message: `LogicalCluster ${cluster} not found`,
  };
}

function withPhase(metadata: JsonObject, phase: string): Draft {
  return { ...metadata, labels: { ...member(metadata, "labels"), [phaseLabel]: phase } };
}

/**
 * The time for the deletion of child workspaces before the condition reports that they are waited
 * for.
 */
const patienceMs = 10_000;

const recheckMsMin = 200;
const recheckMsMax = 15_000;

/**
 * The interval grows with the time since the deletion; it needs no state, and survives a restart.
 */
function recheckMs(deletionTimestamp: string, nowMs: number): number {
  const ageMs = nowMs - Date.parse(deletionTimestamp);
  return Math.min(recheckMsMax, Math.max(recheckMsMin, ageMs / 4));
}

function contentOf(status: JsonObject): JsonObject | undefined {
  return conditionsOf(status).find(({ type }) => type === "WorkspaceContentDeleted");
}

function isUnscheduled(object: JsonObject): boolean {
  const spec = member(object, "spec");
  return spec["cluster"] === undefined && spec["mount"] === undefined;
}

async function ignoringMissing(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}

function hasLimit(logical: JsonObject): boolean {
  const annotations = member(member(logical, "metadata"), "annotations");
  return annotations[annotation.maxTotalObjects] !== undefined;
}
