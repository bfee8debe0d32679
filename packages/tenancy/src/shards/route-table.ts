/**
 * The routes of logical clusters that have moved between shards, stored in the logical cluster
 * `system:shard` of each shard that one was moved from, or that its name carries.
 *
 * All stored routes are in memory: they are few, and a request must not wait for them. Routes that
 * other shards have told are kept beside them, as many as fit; they are only hints.
 */
import { systemDefinition } from "@kcp-ts/apiserver/custom-resources";
import {
  collectionKeyOf,
  type Draft,
  type Registry,
  type ResourceDefinition,
} from "@kcp-ts/apiserver/registry";
import {
  type Entry,
  parseObjectKey,
  resourcePrefix,
  type Storage,
} from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { HubEvent, HubListener, WatchCache } from "@kcp-ts/apiserver/watch-cache";
import { neverAborted } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { anyObject, kindSchema } from "@kcp-ts/machinery/schema";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { ShardRoute, ShardRoutes } from "./shard-connections.ts";
import { firstShardOf } from "./shard-names.ts";

/** Objects of one shard that no client sees. */
export const shardCluster = "system:shard" as ClusterName;

const clusterRoutes: ResourceDefinition = systemDefinition({
  group: "core.kcp.io",
  version: "v1alpha1",
  kind: "ClusterRoute",
  resource: "clusterroutes",
  columns: [],
  schema: kindSchema("The shard that a logical cluster has moved to.", {
    spec: anyObject("Its name, and how often the logical cluster has moved."),
  }),
});

export interface RouteTableOptions {
  readonly ownName: string;
  readonly storage: Storage;
  readonly registry: Registry;
  readonly watchCache: WatchCache;
}

const learnedMax = 10_000;
const pageEntries = 500;

export class RouteTable implements ShardRoutes, HubListener {
  readonly ownName: string;
  readonly #options: RouteTableOptions;
  readonly #stored = new Map<ClusterName, ShardRoute>();
  /** In order of their arrival. */
  readonly #learned = new Map<ClusterName, ShardRoute>();

  constructor(options: RouteTableOptions) {
    this.#options = options;
    this.ownName = options.ownName;
  }

  /** Reads what is stored. The hub must be open. */
  async start(): Promise<void> {
    const { watchCache, storage } = this.#options;
    const prefix = resourcePrefix(collectionKeyOf(clusterRoutes));
    watchCache.hub.listen(prefix, this);
    for (let continueAfter: Entry["key"] | undefined, more = true; more; ) {
      const page = await storage.list(prefix, {
        signal: neverAborted,
        entriesMax: pageEntries,
        continueAfter,
      });
      for (const entry of page.entries) this.#keep(entry);
      continueAfter = page.entries.at(-1)?.key;
      more = page.more;
    }
  }

  shardOf(cluster: ClusterName): string | undefined {
    const route = this.#stored.get(cluster) ?? this.#learned.get(cluster);
    const shard = route?.shard ?? this.#firstShardOf(cluster);
    return shard === this.ownName ? undefined : shard;
  }

  routeOf(cluster: ClusterName): ShardRoute | undefined {
    return this.#stored.get(cluster);
  }

  /** Another shard has said where a cluster is. */
  learn(cluster: ClusterName, route: ShardRoute): void {
    const known = this.#stored.get(cluster) ?? this.#learned.get(cluster);
    if (known !== undefined && known.version >= route.version) return;
    this.#learned.delete(cluster);
    this.#learned.set(cluster, route);
    if (this.#learned.size <= learnedMax) return;
    const [oldest] = this.#learned.keys();
    if (oldest !== undefined) this.#learned.delete(oldest);
  }

  /** What was learned has proved wrong. */
  forget(cluster: ClusterName): void {
    this.#learned.delete(cluster);
  }

  async setRoute(cluster: ClusterName, route: ShardRoute): Promise<void> {
    const known = this.#stored.get(cluster);
    if (known !== undefined && known.version >= route.version) return;
    const spec = { shard: route.shard, version: route.version };
    const { registry } = this.#options;
    const address = { cluster: shardCluster, namespace: "", name: "" };
    try {
      await registry.create(clusterRoutes, address, { metadata: { name: cluster }, spec }, write);
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
      await registry.update(
        clusterRoutes,
        { ...address, name: cluster },
        async (old) => {
          const before = routeIn(old);
          return before.version < route.version ? { ...old, spec } : ({ ...old } as Draft);
        },
        { ...write, isDerivedFromLive: true },
      );
    }
    this.#store(cluster, route);
  }

  onEvent({ key, current }: HubEvent): void {
    if (current !== undefined) this.#keep(current);
    else this.#stored.delete(parseObjectKey(key).name as ClusterName);
  }

  onLost(): void {
    // Routes only get newer: what is known stays true enough, and the events begin anew.
    const prefix = resourcePrefix(collectionKeyOf(clusterRoutes));
    this.#options.watchCache.hub.listen(prefix, this);
  }

  #keep(entry: Entry): void {
    this.#store(parseObjectKey(entry.key).name as ClusterName, routeIn(decodeObject(entry)));
  }

  #store(cluster: ClusterName, route: ShardRoute): void {
    const known = this.#stored.get(cluster);
    if (known !== undefined && known.version > route.version) return;
    this.#stored.set(cluster, route);
    this.#learned.delete(cluster);
  }

  #firstShardOf(cluster: ClusterName): string {
    return cluster.startsWith("system:") ? this.ownName : firstShardOf(cluster);
  }
}

const write = { isDryRun: false, validate: () => undefined, signal: neverAborted } as const;

function routeIn(object: JsonObject | undefined): ShardRoute {
  const spec = object?.["spec"];
  if (!isJsonObject(spec)) return { shard: "", version: 0 };
  return { shard: String(spec["shard"]), version: Number(spec["version"]) };
}
