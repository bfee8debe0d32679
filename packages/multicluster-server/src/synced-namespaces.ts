/**
 * Whether an object of a namespace is assigned to a physical cluster: only then may the cluster
 * write to the namespace. Pods, Events and all other upsynced objects are accepted in no other
 * namespace, whichever client sends them.
 *
 * The result is read from the store and cached for a moment: upsynced objects arrive in bursts, and
 * assignments change seldom. Nothing is cached for namespaces that no cluster writes to.
 */
import type { Catalog, ResourceDefinition } from "@kcp-ts/apiserver";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  assignedTargets,
  clusterLabels,
  isSyncedNative,
  stateLabel,
  stateSync,
} from "@kcp-ts/multicluster";
import { type Client, defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";

export interface SyncedNamespacesOptions {
  /** A client that may read everything. */
  readonly client: () => Client;
  readonly catalog: () => Catalog;
}

export interface NamespaceInCluster {
  readonly cluster: ClusterName;
  readonly namespace: string;
}

/**
 * No definitions exist in this logical cluster: it serves built-in resources only, which are the
 * same everywhere.
 */
export const systemCluster = "system:admin" as ClusterName;

/**
 * A removed assignment takes effect within `given`. A missing assignment may be added at any time,
 * long before objects are synced up.
 */
const keptMs = { given: 5000, notGiven: 1000 } as const;
/** The number of cached namespaces; the cache is cleared when it is full. */
const keptMax = 10_000;

interface CachedLookup {
  readonly answer: Promise<AssignedObject | undefined>;
  untilMs: number;
}

/** An object that was found to be assigned: as long as it is, one request shows it. */
interface AssignedObject {
  readonly resource: Resource<KubernetesObject>;
  readonly name: string;
}

export class SyncedNamespaces {
  readonly #options: SyncedNamespacesOptions;
  readonly #kept = new Map<string, CachedLookup>();

  constructor(options: SyncedNamespacesOptions) {
    this.#options = options;
  }

  /** `target` is the SyncTarget's name on objects there. */
  async has(place: NamespaceInCluster, target: string): Promise<boolean> {
    const { clock } = this.#options.client();
    const id = `${place.cluster}/${place.namespace}/${target}`;
    const known = this.#kept.get(id);
    if (known !== undefined && known.untilMs > clock.monotonic())
      return (await known.answer) !== undefined;
    if (this.#kept.size >= keptMax) this.#kept.clear();
    // Concurrent callers wait for the same result.
    const kept: CachedLookup = {
      answer: this.#look(place, target, known?.answer),
      untilMs: Number.POSITIVE_INFINITY,
    };
    this.#kept.set(id, kept);
    try {
      const isGiven = (await kept.answer) !== undefined;
      kept.untilMs = clock.monotonic() + (isGiven ? keptMs.given : keptMs.notGiven);
      return isGiven;
    } catch (error) {
      this.#kept.delete(id);
      throw error;
    }
  }

  async #look(
    { cluster, namespace }: NamespaceInCluster,
    target: string,
    known: Promise<AssignedObject | undefined> | undefined,
  ): Promise<AssignedObject | undefined> {
    const client = this.#options.client().inCluster(cluster);
    const before = await known;
    if (before !== undefined) {
      const { resource, name } = before;
      const found = await client.resource(resource).find({ namespace, name });
      if (assignedTargets(found?.metadata.labels).has(target)) return before;
    }
    const selectors = [
      `${stateLabel(target)}=${stateSync}`,
      ...clusterLabels.map((label) => `${label}=${target}`),
    ];
    for (const resource of await this.#kinds(cluster)) {
      const lists = selectors.map((labelSelector) =>
        client.resource(resource).list({ namespace, labelSelector, limit: 1 }),
      );
      for (const { items } of await Promise.all(lists)) {
        const [first] = items;
        if (first !== undefined) return { resource, name: first.metadata.name };
      }
    }
    return undefined;
  }

  /**
   * The resources that can be assigned: defined ones, and the native resources that workloads
   * depend on.
   */
  async #kinds(cluster: ClusterName): Promise<readonly Resource<KubernetesObject>[]> {
    const catalog = this.#options.catalog();
    const kinds = new Map<string, ResourceDefinition>();
    for (const one of await catalog.all(cluster)) {
      const { group, version, resource } = one;
      const name = nameOf(one);
      if (kinds.has(name) || !one.isNamespaced || !one.verbs.includes("list")) continue;
      const native = await catalog.find(systemCluster, group, version, resource);
      if (native === undefined || isSyncedNative(name)) kinds.set(name, one);
    }
    // Other kinds follow these: usually the first kind already has an assigned object.
    const order = [...kinds].sort(([a], [b]) => rankOf(a) - rankOf(b));
    return order.map(([, { group, version, resource, kind }]) =>
      defineResource<KubernetesObject>({ group, version, resource, kind, namespaced: true }),
    );
  }
}

export function namespaceNotSynced(namespace: string, target: string): string {
  return `nothing in the namespace ${namespace} is assigned to ${target}, which therefore has nothing to say there`;
}

function nameOf({ group, resource }: ResourceDefinition): string {
  return group === "" ? resource : `${resource}.${group}`;
}

function rankOf(name: string): number {
  if (isSyncedNative(name)) return 2;
  return name.endsWith(".apps") || name === "services" ? 0 : 1;
}
