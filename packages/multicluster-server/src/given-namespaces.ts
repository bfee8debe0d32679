/**
 * Whether a physical cluster was given anything of a namespace: only there has it something to say. Pods, Events and whatever else comes up are taken into no other one,
 * whoever brings them.
 *
 * Asked of what is stored, and remembered for a moment: what comes up comes in crowds, and what is assigned changes seldom. Nothing is kept for namespaces that no cluster
 * speaks of.
 */

import type { Catalog, ResourceDefinition } from "@kcp-ts/apiserver";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { clusterLabels, isSyncedNative, stateLabel, stateSync } from "@kcp-ts/multicluster";
import { type Client, defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";

export interface SyncedNamespacesOptions {
  /** May read everything. */
  readonly client: () => Client;
  readonly catalog: () => Catalog;
}

export interface NamespaceInCluster {
  readonly cluster: ClusterName;
  readonly namespace: string;
}

/** Nobody defines anything in there: what it serves is built in, and the same everywhere. */
export const systemCluster = "system:admin" as ClusterName;

/** What was given may be taken away, and is then spoken of for no longer than that. What was not given may be at any time, and is given long before it is spoken of. */
const keptMs = { given: 5000, notGiven: 1000 } as const;
/** Namespaces that are remembered; then it is begun anew. */
const keptMax = 10_000;

interface CachedLookup {
  readonly answer: Promise<boolean>;
  untilMs: number;
}

export class SyncedNamespaces {
  readonly #options: SyncedNamespacesOptions;
  readonly #kept = new Map<string, CachedLookup>();

  constructor(options: SyncedNamespacesOptions) {
    this.#options = options;
  }

  /** `target` is what objects there call the SyncTarget. */
  async has(place: NamespaceInCluster, target: string): Promise<boolean> {
    const { clock } = this.#options.client();
    const id = `${place.cluster}/${place.namespace}/${target}`;
    const known = this.#kept.get(id);
    if (known !== undefined && known.untilMs > clock.monotonic()) return await known.answer;
    if (this.#kept.size >= keptMax) this.#kept.clear();
    // Those who ask meanwhile wait for the same answer.
    const kept: CachedLookup = {
      answer: this.#look(place, target),
      untilMs: Number.POSITIVE_INFINITY,
    };
    this.#kept.set(id, kept);
    try {
      const isGiven = await kept.answer;
      kept.untilMs = clock.monotonic() + (isGiven ? keptMs.given : keptMs.notGiven);
      return isGiven;
    } catch (error) {
      this.#kept.delete(id);
      throw error;
    }
  }

  async #look({ cluster, namespace }: NamespaceInCluster, target: string): Promise<boolean> {
    const client = this.#options.client().inCluster(cluster);
    const selectors = [
      `${stateLabel(target)}=${stateSync}`,
      ...clusterLabels.map((label) => `${label}=${target}`),
    ];
    for (const resource of await this.#kinds(cluster)) {
      const lists = selectors.map((labelSelector) =>
        client.resource(resource).list({ namespace, labelSelector, limit: 1 }),
      );
      for (const { items } of await Promise.all(lists)) if (items.length > 0) return true;
    }
    return false;
  }

  /** What can be assigned: what is defined, and of what the control plane serves by itself, what workloads take along. */
  async #kinds(cluster: ClusterName): Promise<readonly Resource[]> {
    const catalog = this.#options.catalog();
    const kinds = new Map<string, ResourceDefinition>();
    for (const one of await catalog.all(cluster)) {
      const { group, version, resource } = one;
      const name = nameOf(one);
      if (kinds.has(name) || !one.isNamespaced || !one.verbs.includes("list")) continue;
      const native = await catalog.find(systemCluster, group, version, resource);
      if (native === undefined || isSyncedNative(name)) kinds.set(name, one);
    }
    // Others follow these: it is found with the first, mostly.
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
