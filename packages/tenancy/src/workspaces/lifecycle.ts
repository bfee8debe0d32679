/**
 * What happens to workspaces after they were stored: those that wait for controllers of their type follow their logical cluster, those that
 * are deleted take it along, and logical clusters without an owner go.
 *
 * It can begin anywhere and may be killed anywhere: every step looks at what is stored, and a start looks at all of it once. Several servers
 * may do it at the same time, since every write is compared before it is swapped.
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
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { TerminatingClusters } from "./closing-clusters.ts";
import { isOwnedBy, logicalClusterOwnerOf } from "./cluster-owner.ts";
import { hasOnlyWorkspaces, remainingContentCondition } from "./deletion-conditions.ts";
import { LogicalClusterResourcesDeleter } from "./empty-cluster.ts";
import { KeyedWorkQueue } from "./job-queue.ts";
import { type Condition, conditionsOf, setCondition } from "./kinds/conditions.ts";
import {
  logicalClusterName,
  logicalClusters,
  systemWrite,
  workspaceFinalizer,
  workspaces,
} from "./kinds/definitions.ts";
import { deletionFinalizer, phaseLabel, put, textsOf } from "./kinds/phases.ts";
import { MountController } from "./mounts.ts";
import { OwnedClusters } from "./owned-clusters.ts";
import {
  clusterScoped,
  logicalClusterKey,
  systemWriteOptions,
  type TenancyDependencies,
  uncancelled,
} from "./parts.ts";
import { annotation, member } from "./records.ts";
import { BackgroundScan, type ScanTask } from "./survey.ts";
import { initialized } from "./workspace-admission.ts";
import { removeOwnerGroups } from "./workspace-owner.ts";
import { workspaceKey } from "./workspace-tree.ts";

export interface WorkspaceLifecycleOptions {
  readonly parts: TenancyDependencies;
  readonly definitions: readonly ResourceDefinition[];
  readonly onError: (error: unknown) => void;
  /** Told of every LogicalCluster that a start finds. */
  readonly onSeen: (logicalCluster: Entry) => void;
  /** Puts a workspace somewhere that could not be put anywhere when it was created. */
  readonly reschedule: (cluster: ClusterName, name: string) => Promise<void>;
}

/** A Workspace or a LogicalCluster. */
type Job = StorageKey;

export class WorkspaceLifecycleController {
  readonly closing: TerminatingClusters;
  readonly inactive = new Set<ClusterName>();
  /** Those that say how many objects they have room for. */
  readonly limited = new Set<ClusterName>();
  /** Until then nothing is known of a logical cluster that has not changed: whoever must know reads it. */
  hasSeenAll = false;
  readonly #options: WorkspaceLifecycleOptions;
  readonly #jobs: KeyedWorkQueue<Job>;
  readonly #emptier: LogicalClusterResourcesDeleter;
  readonly #survey: BackgroundScan;
  readonly #mounts: MountController;

  constructor(options: WorkspaceLifecycleOptions) {
    const { parts, definitions, onError } = options;
    this.#options = options;
    this.#emptier = new LogicalClusterResourcesDeleter({
      ...parts,
      definitions,
      hub: parts.watchCache.hub,
    });
    this.#jobs = new KeyedWorkQueue<Job>({
      clock: parts.clock,
      onError,
      work: (key) => this.#work(key),
    });
    this.closing = new TerminatingClusters(parts.clock, async (cluster) => {
      await this.#emptier.empty(cluster);
      this.#emptier.forget(cluster);
    });
    this.#mounts = new MountController({
      ...parts,
      again: (key) => this.#jobs.add(key),
      update: (entry, change) => this.#update(workspaces, entry, change),
    });
    this.#survey = new BackgroundScan({ storage: parts.storage, supervisor: parts.supervisor });
  }

  /** Takes up what an earlier run, or another server, left unfinished. */
  start(): void {
    const owned = new OwnedClusters();
    void this.#survey.run([
      { definition: workspaces, look: (entry) => this.#lookAtWorkspace(entry, owned) },
      {
        definition: logicalClusters,
        look: (entry) => this.#lookAtLogicalCluster(entry, owned),
        end: () => {
          owned.clear();
          this.hasSeenAll = true;
        },
      },
    ]);
  }

  async stop(): Promise<void> {
    this.#survey.stop();
    this.closing.stop();
    await this.#jobs.stop();
  }

  survey(looks: readonly ScanTask[]): Promise<void> {
    return this.#survey.run(looks);
  }

  /** What waits for a shard is tried again. */
  retryUnscheduled(): void {
    void this.#survey.run([
      {
        definition: workspaces,
        look: (entry) => {
          if (isUnscheduled(decodeObject(entry))) this.#jobs.add(entry.key);
        },
      },
    ]);
  }

  /** A name that nobody has used before. */
  begins(cluster: ClusterName): void {
    this.#emptier.begins(cluster);
  }

  mayHave(cluster: ClusterName, collection: ResourceKey): boolean {
    return this.#emptier.mayHave(cluster, collection);
  }

  /** Looks after a while whether a logical cluster has an owner, and takes it away if not. */
  suspect(cluster: ClusterName): () => void {
    const key = logicalClusterKey(cluster);
    this.#jobs.addLater(key, suspicionMs);
    return () => this.#jobs.drop(key);
  }

  /** One that never had an owner goes at once. */
  async discard(cluster: ClusterName): Promise<void> {
    const { registry } = this.#options.parts;
    const address = clusterScoped(cluster, logicalClusterName);
    await ignoringMissing(registry.delete(logicalClusters, address, {}, systemWriteOptions));
  }

  onWorkspace({ key, current, previous }: HubEvent): void {
    if (current === undefined) {
      this.#mounts.forget(key);
      const { cluster: parent } = parseObjectKey(key);
      // The logical cluster above may wait for the last of its workspaces.
      if (this.closing.has(parent)) this.#jobs.add(logicalClusterKey(parent));
      const { cluster } = member(decodeObject(previous as Entry), "spec") as { cluster?: string };
      if (cluster === undefined || this.closing.isGone(cluster as ClusterName)) return;
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
      this.closing.leave(cluster);
      this.#tellOwner(decodeObject(previous as Entry));
    } else if (isBeingDeleted(current)) this.#jobs.add(key);
    else if (previous === undefined) this.closing.reopen(cluster);
    else this.#tellOwner(object);
  }

  #lookAtWorkspace(entry: Entry, owned: OwnedClusters): void {
    const object = decodeObject(entry);
    const { phase } = member(object, "status");
    const { deletionTimestamp, uid } = member(object, "metadata");
    const { cluster, mount } = member(object, "spec");
    if (cluster !== undefined) owned.add(String(cluster), String(uid));
    if (deletionTimestamp !== undefined || mount !== undefined || phase !== "Ready")
      this.#jobs.add(entry.key);
  }

  #lookAtLogicalCluster(entry: Entry, owned: OwnedClusters): void {
    const { cluster } = parseObjectKey(entry.key);
    const object = decodeObject(entry);
    this.#noteActivity(cluster, object);
    this.#options.onSeen(entry);
    this.#noteLimit(cluster, object);
    const isDeleted = isBeingDeleted(entry);
    const owner = isDeleted ? undefined : logicalClusterOwnerOf(object);
    if (isDeleted || (owner !== undefined && !owned.has(cluster, owner.uid)))
      this.#jobs.add(entry.key);
  }

  #noteActivity(cluster: ClusterName, logical: JsonObject | undefined): void {
    if (logical !== undefined && member(logical, "status")["phase"] === "Inactive") {
      if (this.inactive.has(cluster)) return;
      this.inactive.add(cluster);
      this.#endWatches(cluster);
      // What is closed to everybody is not to be followed by way of all clusters either: whoever does begins anew.
      this.#endWatches("*");
    } else if (this.inactive.size > 0) this.inactive.delete(cluster);
  }

  #noteLimit(cluster: ClusterName, logical: JsonObject | undefined): void {
    if (logical !== undefined && hasLimit(logical)) this.limited.add(cluster);
    else this.limited.delete(cluster);
  }

  /** A turn later, so that watches still tell of the last changes. */
  #endWatches(cluster: ClusterName | "*"): void {
    const { watchCache } = this.#options.parts;
    setImmediate(() => watchCache.endWatchesOf(cluster));
  }

  async #work(key: Job): Promise<number | undefined> {
    const entry = await this.#options.parts.watchCache.get(key, { kind: "latest" }, uncancelled);
    const { resource, cluster } = parseObjectKey(key);
    if (entry === undefined) return undefined;
    const object = decodeObject(entry);
    return resource === workspaces.resource
      ? this.#settleWorkspace(entry, object)
      : this.#settleLogicalCluster(cluster, entry, object);
  }

  async #settleWorkspace(entry: Entry, object: JsonObject): Promise<number | undefined> {
    const { watchCache } = this.#options.parts;
    const [metadata, spec] = [member(object, "metadata"), member(object, "spec")];
    const cluster = spec["cluster"] as ClusterName | undefined;
    const isDeleted = metadata["deletionTimestamp"] !== undefined;
    if (cluster === undefined) {
      if (isDeleted) await this.#release(workspaces, entry, object, workspaceFinalizer);
      else if (spec["mount"] !== undefined) return this.#mounts.settle(entry, object);
      else if (isUnscheduled(object)) {
        const { cluster: parent, name } = parseObjectKey(entry.key);
        await this.#options.reschedule(parent, name);
      }
      return undefined;
    }
    const found = this.closing.isGone(cluster)
      ? undefined
      : await watchCache.get(logicalClusterKey(cluster), { kind: "latest" }, uncancelled);
    // Another's is neither followed nor taken along.
    const logical = found !== undefined && isOwnedBy(found, entry.key, object) ? found : undefined;
    if (!isDeleted) return this.#follow(entry, object, logical);
    const finalizers = textsOf(metadata["finalizers"]);
    // Others finish their work first, as long as the content is there.
    if (finalizers.some((one) => one !== workspaceFinalizer)) return undefined;
    if (logical === undefined) await this.#release(workspaces, entry, object, workspaceFinalizer);
    else if (!isBeingDeleted(logical)) await this.discard(cluster);
    else await this.#follow(entry, object, logical);
    return undefined;
  }

  /** A Workspace says what its logical cluster says. */
  async #follow(
    entry: Entry,
    object: JsonObject,
    logical: Entry | undefined,
  ): Promise<number | undefined> {
    const { clock } = this.#options.parts;
    if (logical === undefined) return this.#disappeared(entry, object);
    const status = member(decodeObject(logical), "status");
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

  async #disappeared(entry: Entry, object: JsonObject): Promise<number | undefined> {
    const { clock } = this.#options.parts;
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

  async #settleLogicalCluster(
    cluster: ClusterName,
    entry: Entry,
    object: JsonObject,
  ): Promise<number | undefined> {
    const metadata = member(object, "metadata");
    if (metadata["deletionTimestamp"] === undefined) return this.#claim(cluster, object);
    if (textsOf(member(object, "status")["terminators"]).length > 0) {
      this.#tellOwner(object);
      return undefined;
    }
    if (!textsOf(metadata["finalizers"]).includes(deletionFinalizer)) return undefined;
    this.closing.enter(cluster);
    const left = await this.#emptier.empty(cluster);
    if (left.resources.size === 0) {
      await this.#release(logicalClusters, entry, object, deletionFinalizer);
      return undefined;
    }
    const { clock } = this.#options.parts;
    const ageMs = clock.now() - Date.parse(String(metadata["deletionTimestamp"]));
    // Workspaces below take a moment to go, and wake us when they have.
    if (hasOnlyWorkspaces(left) && ageMs < patienceMs) return patienceMs - ageMs;
    const condition = remainingContentCondition(left);
    await this.#update(logicalClusters, entry, (draft) => {
      const status = member(draft, "status");
      const conditions = setCondition(conditionsOf(status), condition, clock.now());
      draft["status"] = { ...status, conditions };
    });
    this.#tellOwner(object);
    return recheckMs(String(metadata["deletionTimestamp"]), clock.now());
  }

  #tellOwner(object: JsonObject): void {
    const owner = logicalClusterOwnerOf(object);
    if (owner !== undefined) this.#jobs.add(workspaceKey(owner.cluster, owner.name));
  }

  /** A logical cluster whose Workspace is not there, or is another one, belongs to nobody. */
  async #claim(cluster: ClusterName, object: JsonObject): Promise<number | undefined> {
    const owner = logicalClusterOwnerOf(object);
    if (owner === undefined) return undefined;
    const { watchCache, clock } = this.#options.parts;
    const created = Date.parse(String(member(object, "metadata")["creationTimestamp"]));
    const ageMs = clock.now() - created;
    const key = workspaceKey(owner.cluster, owner.name);
    const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
    const uid = entry === undefined ? undefined : member(decodeObject(entry), "metadata")["uid"];
    if (uid === owner.uid) return undefined;
    // It is stored before its owner is: a young one may still get one.
    if (ageMs < suspicionMs) return suspicionMs - ageMs;
    await this.discard(cluster);
    return undefined;
  }

  /** Takes a finalizer away, and with the last one the object. */
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
        await this.#options.parts.storage.commit(
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
    const rules = { ...systemWriteOptions, subresource: systemWrite, isDerived: true };
    await ignoringMissing(
      this.#options.parts.registry.update(definition, clusterScoped(cluster, name), build, rules),
    );
  }
}

/** Longer than any write may take that has begun. */
const suspicionMs = 60_000;
const disappearedAfterMs = 60_000;

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

/** How long those below may take before it is said that they are waited for. */
const patienceMs = 10_000;

const recheckMsMin = 200;
const recheckMsMax = 15_000;

/** The longer it has taken so far, the later; what grows with the age needs no memory, and survives a restart. */
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
