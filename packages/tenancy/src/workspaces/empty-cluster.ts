/**
 * Takes everything out of a logical cluster that is on its way out.
 *
 * What nothing holds back is removed from the store at once, collection by collection; what has finalizers is marked and counted, and found
 * again on the next pass. Workspaces below go first, and nothing else before they have gone; then definitions and the rest; then bindings, which
 * take the objects of their APIs along; namespaces when nothing is left in them; and roles last, so that those who have to finish something still may.
 * A provider may have to let go of a namespace, and can for as long as there is a binding: those that are held back are waited for before.
 */

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
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { logicalClusters, workspaces } from "./kinds/definitions.ts";
import { textsOf } from "./kinds/phases.ts";
import { systemWriteOptions, uncancelled } from "./parts.ts";
import { ClusterContentIndex, type ContentKey } from "./used-collections.ts";

/** Objects read, and deletions under way, at a time. */
const pageEntries = 200;
/** A cluster that uses more kinds than these is emptied step by step. */
const collectionsAtOnceMax = 12;

export interface RemainingContent {
  /** `<plural>.<group>`, and how many. */
  readonly resources: ReadonlyMap<string, number>;
  readonly finalizers: ReadonlyMap<string, number>;
}

interface Counts extends RemainingContent {
  readonly resources: Map<string, number>;
  readonly finalizers: Map<string, number>;
}

interface Step {
  readonly definitions: readonly ResourceDefinition[];
  /** Only what something holds back. */
  readonly heldOnly?: boolean;
}

interface Found {
  readonly definition: ResourceDefinition;
  readonly entry: Entry;
}

export interface LogicalClusterResourcesDeleterOptions {
  readonly storage: Storage;
  readonly registry: Registry;
  /** Everything that logical clusters have without defining it themselves. */
  readonly definitions: readonly ResourceDefinition[];
  readonly hub: WatchHub;
}

export class LogicalClusterResourcesDeleter {
  readonly #options: LogicalClusterResourcesDeleterOptions;
  readonly #steps: readonly Step[];
  readonly #used: ClusterContentIndex;

  constructor(options: LogicalClusterResourcesDeleterOptions) {
    this.#options = options;
    this.#steps = stepsOf(options.definitions);
    this.#used = new ClusterContentIndex(options.hub, [...definitionsIn(this.#steps)]);
  }

  /** Known to be empty: of such a cluster it is remembered what has been put into it since. */
  begins(cluster: ClusterName): void {
    this.#used.begins(cluster);
  }

  /** False when nobody has put anything there, as far as the hub has come. */
  mayHave(cluster: ClusterName, collection: ResourceKey): boolean {
    return this.#used.mayHave(cluster, collection);
  }

  forget(cluster: ClusterName): void {
    this.#used.forget(cluster);
  }

  /** What is left when everything that can go has gone; nothing, most of the time. */
  async empty(cluster: ClusterName): Promise<RemainingContent> {
    this.#used.beginEmptying(cluster);
    let isEmpty = false;
    try {
      const left = await this.#empty(cluster);
      isEmpty = left.resources.size === 0;
      return left;
    } finally {
      this.#used.endEmptying(cluster, isEmpty);
    }
  }

  async #empty(cluster: ClusterName): Promise<RemainingContent> {
    const resources = new Map<string, number>();
    const finalizers = new Map<string, number>();
    const left = { resources, finalizers };
    if (await this.#emptyByName(cluster)) return left;
    const [below, ...steps] = this.#steps as [Step, ...Step[]];
    await this.#take(below, cluster, left);
    if (resources.size > 0 || (await this.#emptyAtOnce(cluster, [...definitionsIn(steps)])))
      return left;
    for (const step of steps) {
      await this.#take(step, cluster, left);
      if (resources.size > 0) break;
    }
    return left;
  }

  async #take({ definitions, heldOnly }: Step, cluster: ClusterName, left: Counts): Promise<void> {
    const used = definitions.filter((one) => this.mayHave(cluster, collectionKeyOf(one)));
    await Promise.all(used.map((one) => this.#emptyOf(one, cluster, left, heldOnly === true)));
  }

  /** What is known by name is read by name, when the hub knows of all that the store has acknowledged. False when it is not so simple. */
  async #emptyByName(cluster: ClusterName): Promise<boolean> {
    const { storage, hub } = this.#options;
    if (this.#used.keysIn(cluster) === undefined) return false;
    await hub.reach(await storage.currentRevision(callOptions), uncancelled);
    const keys = this.#used.keysIn(cluster);
    if (keys === undefined || keys.some(({ definition }) => isSame(definition, workspaces)))
      return false;
    const read = await Promise.all(keys.map(({ key }) => storage.get(key, callOptions)));
    const found = read.flatMap((entry, index) => {
      const { definition } = keys[index] as ContentKey;
      return entry === undefined ? [] : [{ definition, entry }];
    });
    return this.#removeAtOnce(found);
  }

  /** Whether all of it has gone: in one turn, namespaces first, so that nobody thinks that something is missing in them. */
  async #removeAtOnce(found: readonly Found[]): Promise<boolean> {
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

  /** Most clusters hold little, and nothing that anything holds back: it goes at once. False when it is not so simple. */
  async #emptyAtOnce(
    cluster: ClusterName,
    definitions: readonly ResourceDefinition[],
  ): Promise<boolean> {
    const { storage } = this.#options;
    const used = definitions.filter((definition) =>
      this.mayHave(cluster, collectionKeyOf(definition)),
    );
    if (used.length > collectionsAtOnceMax) return false;
    const pages = await Promise.all(
      used.map((definition) =>
        storage.list(clusterPrefix({ ...collectionKeyOf(definition), cluster }), {
          signal: uncancelled,
          entriesMax: pageEntries,
          withDamaged: true,
        }),
      ),
    );
    if (pages.some(({ more }) => more)) return false;
    const found = pages.flatMap(({ entries }, index) => {
      const definition = used[index] as ResourceDefinition;
      return entries.map((entry) => ({ definition, entry }));
    });
    return this.#removeAtOnce(found);
  }

  /** False when somebody changed it meanwhile. */
  async #commitRemoval({ key, modifiedAt: expected }: Entry): Promise<boolean> {
    try {
      await this.#options.storage.commit({ key, value: "delete", expected }, callOptions);
      return true;
    } catch (error) {
      if (isStorageError(error, "conflict")) return false;
      throw error;
    }
  }

  async #emptyOf(
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
        withDamaged: true,
      });
      if (page.entries.length === 0) return;
      const entries = heldOnly
        ? page.entries.filter((entry) => !hasNoFinalizers(definition, entry))
        : page.entries;
      await forEachAtOnce(entries, async (entry) => {
        const holders = await this.#remove(definition, entry, cluster);
        if (holders === undefined) return;
        add(left.resources, `${definition.resource}.${definition.group}`);
        for (const finalizer of holders) add(left.finalizers, finalizer);
      });
      if (!page.more) return;
      continueAfter = page.entries.at(-1)?.key;
    }
  }

  /** Undefined when it is gone; else who holds it back. */
  async #remove(
    definition: ResourceDefinition,
    entry: Entry,
    cluster: ClusterName,
  ): Promise<readonly string[] | undefined> {
    if (hasNoFinalizers(definition, entry) && (await this.#commitRemoval(entry))) return undefined;
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
}

const callOptions = { signal: uncancelled };

/** Namespaces hold themselves back for their content, of which there is none any more when it is their turn. What is damaged holds back nothing. */
function hasNoFinalizers(definition: ResourceDefinition, entry: Entry): boolean {
  if (!isIntact(entry)) return true;
  if (hasFinalizers(entry)) return false;
  if (definition === namespaces) return true;
  const { strategy } = definition;
  return (
    strategy.prepareForDelete === undefined &&
    strategy.isHeldBack === undefined &&
    strategy.deletionForbidden === undefined
  );
}

/** Nothing is too important to go with its cluster. */
function withoutNamespaceFinalizer(definition: ResourceDefinition): ResourceDefinition {
  const { strategy } = definition;
  if (strategy.deletionForbidden === undefined) return definition;
  return { ...definition, strategy: { ...strategy, deletionForbidden: () => undefined } };
}

/** Each once. */
function definitionsIn(steps: readonly Step[]): ReadonlySet<ResourceDefinition> {
  return new Set(steps.flatMap(({ definitions }) => definitions));
}

/** The room that knows more of them is built on this one. */
const bindings = { group: "apis.kcp.io", resource: "apibindings" };

function stepsOf(definitions: readonly ResourceDefinition[]): readonly Step[] {
  const byCollection = new Map<string, ResourceDefinition>();
  for (const definition of definitions) {
    // What is only asked is not stored.
    if (!definition.verbs.includes("list")) continue;
    const { group, resource, identity } = collectionKeyOf(definition);
    const key = `${group}/${resource}/${identity}`;
    // The one that is stored as itself goes before one that is a view of it.
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
    { definitions: [namespaces], heldOnly: true },
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
