/**
 * Looks up the owners of an object on the server: an owner counts as absent only when the server
 * responds that exactly this object does not exist.
 *
 * A kind that is not served, a path that is not found, a failed discovery: none of these is an
 * absent owner.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type ApiResource,
  type Client,
  type KindReference,
  type OwnerReference,
  RestMapper,
} from "@kcp-ts/sdk";
import { namespaces } from "../api/index.ts";
import type { OwnerState, ResolvedOwner } from "./decision.ts";
import { foregroundFinalizer, type GraphNode } from "./graph-node.ts";
import type { Coordinates, OwnershipGraph } from "./ownership-graph.ts";

export interface OwnerLookupOptions {
  readonly client: Client;
  readonly graph: OwnershipGraph;
  readonly clock: Clock;
  /**
   * Whether the graph receives the deletions of objects of this kind: only then may it cache that
   * one exists.
   */
  readonly isWatched: (resource: ApiResource) => boolean;
  /**
   * Called for references that cannot be resolved because owner and dependent are not in the same
   * namespace.
   */
  readonly onInvalidNamespace: (node: GraphNode, reference: OwnerReference) => void;
}

/** Clusters whose kinds are cached; the discovery of further clusters is repeated. */
const mappersMax = 256;
/**
 * The number of namespaces in which an owner is searched that is not in its dependent's namespace.
 */
const namespacesMax = 32;
/** Types change at run time. */
const mapperAgeMsMax = 30_000;

export class OwnerLookup {
  readonly #options: OwnerLookupOptions;
  readonly #mappers = new Map<
    ClusterName,
    { readonly mapper: RestMapper; readonly atMs: number }
  >();

  readonly #everywhere: RestMapper;

  constructor(options: OwnerLookupOptions) {
    this.#options = options;
    this.#everywhere = new RestMapper(options.client.inCluster("*"));
  }

  async standing(node: GraphNode, signal: AbortSignal): Promise<ResolvedOwner[]> {
    const owners: ResolvedOwner[] = [];
    for (const reference of node.owners) {
      owners.push({ reference, standing: await this.#standingOf(node, reference, signal) });
    }
    return owners;
  }

  async #standingOf(
    node: GraphNode,
    reference: OwnerReference,
    signal: AbortSignal,
  ): Promise<OwnerState> {
    const { graph } = this.#options;
    const { group, version } = parseApiVersion(reference.apiVersion);
    const { kind, name, uid } = reference;
    const at: Coordinates = { group, kind, namespace: node.namespace, name };
    const known = graph.existence(node.cluster, uid, at);
    if (known !== undefined) return known === "present" ? "solid" : "dangling";
    const resource = await this.#resourceOf(node.cluster, { group, version, kind }, signal);
    if (resource === undefined) return "unknown";
    if (resource.namespaced && node.namespace === "") {
      this.#options.onInvalidNamespace(node, reference);
      return "unknown";
    }
    const remember = graph.ask(node.cluster, uid, at);
    const found = await this.#find(node, resource, reference, signal);
    if (found === "absent") {
      const wasThere = graph.wasPresent(node.cluster, uid, at);
      remember("absent");
      if (!wasThere && (await this.#isElsewhere(node, resource, reference, signal)))
        this.#options.onInvalidNamespace(node, reference);
    }
    if (found === "solid" && this.#options.isWatched(resource)) {
      remember("present");
    }
    return found === "absent" ? "dangling" : found;
  }

  /**
   * Whether the owner is in another namespace; the search is limited, since a wrong reference is
   * worth no more.
   */
  async #isElsewhere(
    { cluster, namespace }: GraphNode,
    resource: ApiResource,
    { name, uid }: OwnerReference,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { graph, client } = this.#options;
    const { group, kind } = resource;
    if (graph.isElsewhere(cluster, uid, { group, kind, namespace, name })) return true;
    if (!resource.namespaced) return false;
    const all = client.inCluster(cluster).resource(namespaces);
    const { items } = await all.listMetadata({ limit: namespacesMax, signal });
    const objects = client.inCluster(cluster).resource(resource);
    for (const { metadata } of items) {
      if (metadata.name === undefined || metadata.name === namespace) continue;
      const found = await objects
        .getMetadata({ namespace: metadata.name, name }, { signal })
        .catch((error: unknown) => {
          if (isStatusError(error, "NotFound")) return undefined;
          throw error;
        });
      if (found?.metadata.uid === uid) return true;
    }
    return false;
  }

  async #find(
    { cluster, namespace }: GraphNode,
    resource: ApiResource,
    { name, uid }: OwnerReference,
    signal: AbortSignal,
  ): Promise<"solid" | "waiting" | "absent"> {
    const target = resource.namespaced ? { namespace, name } : { name };
    try {
      const objects = this.#options.client.inCluster(cluster).resource(resource);
      const { metadata } = await objects.getMetadata(target, { signal });
      if (metadata.uid !== uid) return "absent";
      const isWaiting =
        metadata.deletionTimestamp !== undefined &&
        metadata.finalizers?.includes(foregroundFinalizer) === true;
      return isWaiting ? "waiting" : "solid";
    } catch (error) {
      if (isStatusError(error, "NotFound") && error.status.details?.name === name) return "absent";
      // The kind has changed since the discovery.
      this.#mappers.delete(cluster);
      throw error;
    }
  }

  /**
   * The node with the resource as its cluster serves it; undefined when the cluster no longer
   * serves it.
   */
  async resolved(node: GraphNode, signal: AbortSignal): Promise<GraphNode | undefined> {
    if (node.resource.isCustom !== true) return node;
    const { group, resource } = node.resource;
    const found = await this.#mapper(node.cluster).find({ group, resource }, { signal });
    return found === undefined ? undefined : { ...node, resource: found };
  }

  /** Kinds that are served everywhere need no discovery of each cluster. */
  async #resourceOf(
    cluster: ClusterName,
    { group, version, kind }: Required<KindReference>,
    signal: AbortSignal,
  ): Promise<ApiResource | undefined> {
    const everywhere = await this.#everywhere.resources({ signal });
    const found = everywhere.find(
      (one) => one.group === group && one.version === version && one.kind === kind,
    );
    return found ?? this.#mapper(cluster).resourceOf({ group, version, kind }, { signal });
  }

  #mapper(cluster: ClusterName): RestMapper {
    const nowMs = this.#options.clock.monotonic();
    const known = this.#mappers.get(cluster);
    if (known !== undefined && nowMs - known.atMs < mapperAgeMsMax) return known.mapper;
    const mapper = new RestMapper(this.#options.client.inCluster(cluster));
    this.#mappers.delete(cluster);
    this.#mappers.set(cluster, { mapper, atMs: nowMs });
    for (const oldest of this.#mappers.keys()) {
      if (this.#mappers.size <= mappersMax) break;
      this.#mappers.delete(oldest);
    }
    return mapper;
  }
}

export function parseApiVersion(text: string): {
  readonly group: string;
  readonly version: string;
} {
  const slash = text.indexOf("/");
  return slash === -1
    ? { group: "", version: text }
    : { group: text.slice(0, slash), version: text.slice(slash + 1) };
}
