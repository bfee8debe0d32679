/**
 * Deletes the content of a logical cluster that is being deleted.
 *
 * Objects without finalizers are removed from the store at once, collection by collection; objects
 * with finalizers are marked as deleted and counted, and checked again on the next pass. The order:
 * workspaces below, and nothing else before they are deleted; then CRDs and the other objects; then
 * bindings, which delete the objects of their APIs; namespaces when they are empty; and roles last,
 * so that controllers keep their permissions until they have removed their finalizers. A provider
 * may have to remove its finalizer from a namespace, which requires its binding: so namespaces with
 * finalizers are waited for before the bindings are deleted.
 */

import { customResourceDefinitions, instancesPrefix } from "@kcp-ts/apiserver/custom-resources";
import {
  clusterRoleBindings,
  clusterRoles,
  collectionKeyOf,
  namespaces,
  type Registry,
  type ResourceDefinition,
} from "@kcp-ts/apiserver/registry";
import { forEachAtOnce } from "@kcp-ts/apiserver/request/entries-at-once";
import {
  clusterPrefix,
  type Entry,
  isStorageError,
  parseObjectKey,
  type ResourceKey,
  type Storage,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import {
  decodeMetadata,
  hasFinalizers,
  isBeingDeleted,
  isIntact,
} from "@kcp-ts/apiserver/stored-object";
import type { WatchHub } from "@kcp-ts/apiserver/watch-cache";
import { runSyncFirst } from "@kcp-ts/machinery/base";
import { textsOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { ClusterContentIndex, type ContentKey } from "./cluster-content-index.ts";
import { systemWriteOptions, uncancelled } from "./dependencies.ts";
import { logicalClusters, workspaces } from "./kinds/definitions.ts";

/** The page size of reads, and the number of concurrent deletions. */
const pageEntries = 200;
/** A cluster with more collections than this is emptied step by step. */
const collectionsAtOnceMax = 12;

export interface RemainingContent {
  /** The number of remaining objects by `<plural>.<group>`. */
  readonly resources: ReadonlyMap<string, number>;
  readonly finalizers: ReadonlyMap<string, number>;
}

interface Counts extends RemainingContent {
  readonly resources: Map<string, number>;
  readonly finalizers: Map<string, number>;
}

interface Step {
  readonly definitions: readonly ResourceDefinition[];
  /** Counts only objects with finalizers. */
  readonly onlyWithFinalizers?: boolean;
}

interface Found {
  readonly definition: ResourceDefinition;
  readonly entry: Entry;
}

export interface LogicalClusterResourcesDeleterOptions {
  readonly storage: Storage;
  readonly registry: Registry;
  /** All kinds that logical clusters have without a CRD of their own. */
  readonly definitions: readonly ResourceDefinition[];
  readonly hub: WatchHub;
}

export class LogicalClusterResourcesDeleter {
  readonly #options: LogicalClusterResourcesDeleterOptions;
  readonly #steps: readonly Step[];
  readonly #contentIndex: ClusterContentIndex;

  constructor(options: LogicalClusterResourcesDeleterOptions) {
    this.#options = options;
    this.#steps = stepsOf(options.definitions);
    this.#contentIndex = new ClusterContentIndex(options.hub, [...definitionsIn(this.#steps)]);
  }

  /** Records the content of a cluster from its creation on, when it is empty. */
  trackNewCluster(cluster: ClusterName): void {
    this.#contentIndex.trackNewCluster(cluster);
  }

  /** False when the collection had no object up to the hub's revision. */
  mayContain(cluster: ClusterName, collection: ResourceKey): boolean {
    return this.#contentIndex.mayContain(cluster, collection);
  }

  forget(cluster: ClusterName): void {
    this.#contentIndex.forget(cluster);
  }

  /**
   * Deletes all deletable content; returns the remaining objects, which are none most of the time.
   */
  async deleteContent(cluster: ClusterName): Promise<RemainingContent> {
    this.#contentIndex.beginDeletion(cluster);
    let isEmpty = false;
    try {
      const left = await this.#deleteContent(cluster);
      isEmpty = left.resources.size === 0;
      return left;
    } finally {
      this.#contentIndex.endDeletion(cluster, isEmpty);
    }
  }

  async #deleteContent(cluster: ClusterName): Promise<RemainingContent> {
    const resources = new Map<string, number>();
    const finalizers = new Map<string, number>();
    const left = { resources, finalizers };
    if (await this.#deleteKnownKeys(cluster)) return left;
    const [below, ...steps] = this.#steps as [Step, ...Step[]];
    await this.#runStep(below, cluster, left);
    if (
      resources.size > 0 ||
      (await this.#deleteWithoutFinalizers(cluster, [...definitionsIn(steps)]))
    )
      return left;
    for (const step of steps) {
      await this.#runStep(step, cluster, left);
      if (resources.size > 0) break;
    }
    return left;
  }

  async #runStep(
    { definitions, onlyWithFinalizers }: Step,
    cluster: ClusterName,
    left: Counts,
  ): Promise<void> {
    const used = definitions.filter((one) => this.mayContain(cluster, collectionKeyOf(one)));
    await Promise.all(
      used.map((one) => this.#deleteCollection(one, cluster, left, onlyWithFinalizers === true)),
    );
  }

  /**
   * Reads known keys by name, when the hub has seen all acknowledged writes. False when the content
   * is not known by name, or could not be deleted completely.
   */
  async #deleteKnownKeys(cluster: ClusterName): Promise<boolean> {
    const { storage, hub } = this.#options;
    if (this.#contentIndex.keysIn(cluster) === undefined) return false;
    await hub.waitForRevision(await storage.currentRevision(callOptions), uncancelled);
    const keys = this.#contentIndex.keysIn(cluster);
    if (keys === undefined || keys.some(({ definition }) => isSame(definition, workspaces)))
      return false;
    const read = await Promise.all(keys.map(({ key }) => storage.get(key, callOptions)));
    const found = read.flatMap((entry, index) => {
      const { definition } = keys[index] as ContentKey;
      return entry === undefined ? [] : [{ definition, entry }];
    });
    return this.#deleteAllFound(found);
  }

  /**
   * Whether all objects were removed: in one batch, namespaces first, so that no controller
   * restores their default objects.
   */
  async #deleteAllFound(found: readonly Found[]): Promise<boolean> {
    if (!found.every(({ definition, entry }) => hasNoFinalizers(definition, entry))) return false;
    const [first, others] = [
      found.filter(({ definition }) => definition === namespaces),
      found.filter(({ definition }) => definition !== namespaces),
    ];
    const gone = await Promise.all(
      [...first, ...others].map(({ entry }) => this.#commitRemoval(entry)),
    );
    return gone.every((isGone) => isGone);
  }

  /**
   * Removes the content of a small cluster without finalizers at once. False when the cluster is
   * large or has finalizers.
   */
  async #deleteWithoutFinalizers(
    cluster: ClusterName,
    definitions: readonly ResourceDefinition[],
  ): Promise<boolean> {
    const { storage } = this.#options;
    const used = definitions.filter((definition) =>
      this.mayContain(cluster, collectionKeyOf(definition)),
    );
    if (used.length > collectionsAtOnceMax) return false;
    const pages = await Promise.all(
      used.map((definition) =>
        storage.list(clusterPrefix({ ...collectionKeyOf(definition), cluster }), {
          signal: uncancelled,
          entriesMax: pageEntries,
          includeCorrupt: true,
        }),
      ),
    );
    if (pages.some(({ more }) => more)) return false;
    const found = pages.flatMap(({ entries }, index) => {
      const definition = used[index] as ResourceDefinition;
      return entries.map((entry) => ({ definition, entry }));
    });
    return this.#deleteAllFound(found);
  }

  /** False when the object changed meanwhile. */
  async #commitRemoval({ key, modifiedAt: expected }: Entry): Promise<boolean> {
    try {
      await this.#options.storage.commit({ key, value: "delete", expected }, callOptions);
      return true;
    } catch (error) {
      if (isStorageError(error, "conflict")) return false;
      throw error;
    }
  }

  async #deleteCollection(
    definition: ResourceDefinition,
    cluster: ClusterName,
    left: Counts,
    heldOnly: boolean,
  ): Promise<void> {
    const prefix = clusterPrefix({ ...collectionKeyOf(definition), cluster });
    for (let continueAfter: StorageKey | undefined; ; ) {
      const page = await this.#options.storage.list(prefix, {
        signal: uncancelled,
        entriesMax: pageEntries,
        continueAfter,
        includeCorrupt: true,
      });
      if (page.entries.length === 0) return;
      const entries = heldOnly
        ? page.entries.filter((entry) => !hasNoFinalizers(definition, entry))
        : page.entries;
      await forEachAtOnce(entries, async (entry) => {
        const holders = await this.#deleteObject(definition, entry, cluster);
        if (holders === undefined) return;
        add(left.resources, `${definition.resource}.${definition.group}`);
        for (const finalizer of holders) add(left.finalizers, finalizer);
      });
      if (!page.more) return;
      continueAfter = page.entries.at(-1)?.key;
    }
  }

  /** Undefined when the object is deleted; otherwise the finalizers that keep it. */
  async #deleteObject(
    definition: ResourceDefinition,
    entry: Entry,
    cluster: ClusterName,
  ): Promise<readonly string[] | undefined> {
    if (hasNoFinalizers(definition, entry) && (await this.#commitRemoval(entry))) return undefined;
    if (definition === customResourceDefinitions && (await this.#deleteDefinition(entry)))
      return undefined;
    if (!isBeingDeleted(entry)) {
      const { namespace, name } = parseObjectKey(entry.key);
      try {
        const { outcome } = await this.#options.registry.delete(
          withoutNamespaceFinalizer(definition),
          { cluster, namespace, name },
          { propagationPolicy: "Background" },
          systemWriteOptions,
        );
        if (outcome === "deleted") return undefined;
      } catch (error) {
        if (isStatusError(error, "NotFound")) return undefined;
        throw error;
      }
    }
    if (!hasFinalizers(entry)) return [];
    return textsOf((await runSyncFirst(decodeMetadata(entry)))["finalizers"]);
  }

  /**
   * Removes a definition and its instances, and decodes neither: a workspace may have many large
   * definitions. False when something has finalizers, or changed meanwhile.
   */
  async #deleteDefinition(entry: Entry): Promise<boolean> {
    if (hasFinalizers(entry)) return false;
    const prefix = await instancesPrefix(entry);
    if (prefix === undefined || !(await this.#removeInstances(prefix))) return false;
    if (!(await this.#commitRemoval(entry))) return false;
    // Again: an instance may have been created before its definition was gone.
    await this.#removeInstances(prefix);
    return true;
  }

  async #removeInstances(prefix: StorageKey): Promise<boolean> {
    for (;;) {
      const page = await this.#options.storage.list(prefix, {
        signal: uncancelled,
        entriesMax: pageEntries,
        includeCorrupt: true,
      });
      if (page.entries.some((one) => isIntact(one) && hasFinalizers(one))) return false;
      const gone = await Promise.all(page.entries.map((one) => this.#commitRemoval(one)));
      if (gone.includes(false)) return false;
      if (!page.more) return true;
    }
  }
}

const callOptions = { signal: uncancelled };

/**
 * Whether nothing keeps the object. Namespaces have a finalizer for their content, which is deleted
 * before them. A damaged object counts as one without finalizers.
 */
function hasNoFinalizers(definition: ResourceDefinition, entry: Entry): boolean {
  if (!isIntact(entry)) return true;
  if (hasFinalizers(entry)) return false;
  if (definition === namespaces) return true;
  const { strategy } = definition;
  return (
    strategy.prepareForDelete === undefined &&
    strategy.isRemovalBlocked === undefined &&
    strategy.deletionForbidden === undefined
  );
}

/**
 * The definition without the protection of namespaces like `default`, which are deleted with their
 * cluster.
 */
function withoutNamespaceFinalizer(definition: ResourceDefinition): ResourceDefinition {
  const { strategy } = definition;
  if (strategy.deletionForbidden === undefined) return definition;
  return { ...definition, strategy: { ...strategy, deletionForbidden: () => undefined } };
}

/** Each definition once. */
function definitionsIn(steps: readonly Step[]): ReadonlySet<ResourceDefinition> {
  return new Set(steps.flatMap(({ definitions }) => definitions));
}

/** Spelled out, because the folder of API sharing depends on this one. */
const bindings = { group: "apis.kcp.io", resource: "apibindings" };

function stepsOf(definitions: readonly ResourceDefinition[]): readonly Step[] {
  const byCollection = new Map<string, ResourceDefinition>();
  for (const definition of definitions) {
    // Reviews are not stored.
    if (!definition.verbs.includes("list")) continue;
    const { group, resource, identity } = collectionKeyOf(definition);
    const key = `${group}/${resource}/${identity}`;
    // The definition that is stored as itself precedes one that is a view of it.
    if (!byCollection.has(key) || definition.storedAs === undefined)
      byCollection.set(key, definition);
  }
  const roles = [clusterRoleBindings, clusterRoles];
  const all = [...byCollection.values()];
  const below = all.filter((one) => isSame(one, workspaces));
  const others = all.filter(
    (one) =>
      one !== namespaces &&
      !roles.includes(one) &&
      !isSame(one, logicalClusters) &&
      !isSame(one, workspaces) &&
      !isSame(one, bindings),
  );
  return [
    { definitions: below },
    { definitions: others },
    { definitions: [namespaces], onlyWithFinalizers: true },
    { definitions: all.filter((one) => isSame(one, bindings)) },
    { definitions: [namespaces] },
    { definitions: roles },
  ];
}

function isSame(a: ResourceDefinition, b: Pick<ResourceDefinition, "group" | "resource">): boolean {
  return a.resource === b.resource && a.group === b.group;
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
