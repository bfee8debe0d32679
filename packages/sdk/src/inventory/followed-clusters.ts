/**
 * FollowedClusters: the clusters that objects of a hub describe. A cluster is added when its object
 * says how to reach it, connected anew when that changes, and removed with the object.
 */
import { TaskGroup } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Client, explainError, type Log, ProgramLog } from "../client/index.ts";
import {
  ClusterSet,
  type ClusterSetOptions,
  type Clusters,
  singleCluster,
} from "../controller/index.ts";
import type { ObjectKey } from "../informer/index.ts";
import type { Connection } from "../kubeconfig/index.ts";

export interface InventoryOptions extends ClusterSetOptions {
  /** The cluster that has the objects. */
  readonly client: Client;
  /**
   * All namespaces if omitted; then the name of a cluster is `<namespace>/<name>`, else it is the
   * name of its object.
   */
  readonly namespace?: string;
  readonly labelSelector?: string;
}

/** How to reach a cluster. */
export interface ClusterAccess {
  /** What it depends on: the connection is kept while this stays the same. */
  readonly fingerprint: string;
  connect(): Connection;
}

export class FollowedClusters implements Clusters {
  readonly hub: Clusters;
  readonly #options: InventoryOptions;
  readonly #set: ClusterSet;
  /** That of `run`, where none was given. */
  readonly #programLog = new ProgramLog();
  readonly #log: Log;
  readonly #members = new Map<string, { fingerprint: string; connection?: Connection }>();

  constructor(options: InventoryOptions) {
    this.#options = options;
    const { onError: _, ...rest } = options;
    const { log = this.#programLog } = options;
    this.#log = log;
    this.hub = singleCluster({ ...rest, log });
    this.#set = new ClusterSet({ ...options, log });
  }

  /** The clusters that are known now. */
  get clusters(): readonly ClusterName[] {
    return this.#set.clusters;
  }

  nameOf({ namespace, name }: Pick<ObjectKey, "namespace" | "name">): ClusterName {
    const text = this.#options.namespace === undefined ? `${namespace}/${name}` : name;
    // A name in this process: it is part of no path.
    return text as ClusterName;
  }

  /** Undefined: the cluster is not, or no longer, reachable by what the hub says. */
  put(name: ClusterName, read: () => ClusterAccess | undefined): void {
    try {
      const access = read();
      const known = this.#members.get(name);
      if (known !== undefined && known.fingerprint === access?.fingerprint) return;
      this.#remove(name);
      if (access === undefined) return;
      const { fingerprint } = access;
      // A connection that cannot be made is not tried again until something changes.
      this.#members.set(name, { fingerprint });
      const connection = access.connect();
      this.#members.set(name, { fingerprint, connection });
      this.#set.addCluster(name, connection.client);
    } catch (error) {
      const { onError } = this.#options;
      if (onError !== undefined) onError(error, name);
      else this.#log.warn(`cluster ${name} is left out: ${explainError(error)}`);
    }
  }

  #remove(name: ClusterName): void {
    const known = this.#members.get(name);
    this.#members.delete(name);
    this.#set.removeCluster(name);
    void known?.connection?.close();
  }

  useLog(log: Log): void {
    this.#programLog.target = log;
  }

  client(cluster: ClusterName): Client {
    return this.#set.client(cluster);
  }

  readonly source: Clusters["source"] = (resource, options) => this.#set.source(resource, options);

  ready(cluster: ClusterName): Promise<void> | undefined {
    return this.#set.ready(cluster);
  }

  /** The hub's objects are known; a cluster that is unreachable does not count. */
  get hasSynced(): boolean {
    return this.hub.hasSynced;
  }

  refreshed(signal?: AbortSignal): Promise<void> {
    return this.#set.refreshed(signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    const running = new TaskGroup(signal);
    running.start((stop) => this.hub.run(stop));
    running.start((stop) => this.#set.run(stop));
    try {
      await running.join();
    } finally {
      for (const { connection } of this.#members.values()) await connection?.close();
      this.#members.clear();
    }
  }
}
