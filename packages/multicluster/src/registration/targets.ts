/**
 * Targets: the physical clusters that this process is connected to. Whoever works in them (the importer, the syncer) is told here, and
 * never sees a kubeconfig.
 *
 *     targets.subscribe({
 *       connected: ({ cluster, name, client, signal }) => start(…),
 *       gone: ({ cluster, name }) => stop(…),
 *     });
 *
 * A connection that fails for a while is not gone: requests fail, and go through again later. It is gone when the SyncTarget is, or when its
 * kubeconfig is another one, in which case a new one follows.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Client, formatKey, type ObjectKey } from "@kcp-ts/sdk";
import type { SyncTarget } from "../api/index.ts";

export interface TargetConnection {
  /** The logical cluster that the SyncTarget is in. */
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
  /** Who works in the cluster: this process, or an agent of the cluster's own. Then this connection is for its installation only. */
  readonly worker?: "here" | "agent";
  /** Speaks to the physical cluster. */
  readonly client: Client;
  /** Aborts when this connection is over. */
  readonly signal: AbortSignal;
}

export interface TargetListener {
  connected?(connection: TargetConnection): void;
  gone?(connection: TargetConnection): void;
}

/**
 * Asked while a SyncTarget is being deleted, again and again: `done` when nothing of ours is left in the cluster. `connection` is
 * undefined when there is no way into it.
 */
export type DrainHook = (
  target: SyncTarget,
  context: {
    readonly cluster: ClusterName;
    readonly connection: TargetConnection | undefined;
    readonly signal: AbortSignal;
  },
) => Promise<"done" | "pending">;

export class Targets {
  readonly #connections = new Map<string, TargetConnection>();
  readonly #listeners = new Set<TargetListener>();
  readonly #drains = new Set<DrainHook>();
  #here: Targets | undefined;

  get(key: ObjectKey): TargetConnection | undefined {
    return this.#connections.get(formatKey(key));
  }

  /** The clusters that this process works in. Whoever imports or syncs asks here. */
  get workedInHere(): Targets {
    if (this.#here !== undefined) return this.#here;
    this.#here = new Targets();
    for (const connection of this.#connections.values())
      if (connection.worker !== "agent") this.#here.add(connection);
    return this.#here;
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Tells of the connections there are, and of changes from now on. Returns what ends it. */
  subscribe(listener: TargetListener): () => void {
    this.#listeners.add(listener);
    for (const connection of this.#connections.values()) listener.connected?.(connection);
    return () => this.#listeners.delete(listener);
  }

  /** Holds SyncTargets that are being deleted until the hook says done. Returns what takes it away. */
  onDrain(hook: DrainHook): () => void {
    this.#drains.add(hook);
    return () => this.#drains.delete(hook);
  }

  /** Whether everybody has left the cluster. */
  async drain(...[target, context]: Parameters<DrainHook>): Promise<"done" | "pending"> {
    const answers = await Promise.all([...this.#drains].map((hook) => hook(target, context)));
    if (this.#here !== undefined) answers.push(await this.#here.drain(target, context));
    return answers.every((answer) => answer === "done") ? "done" : "pending";
  }

  /** For the controller of SyncTargets. */
  add(connection: TargetConnection): void {
    this.#connections.set(formatKey(keyOf(connection)), connection);
    for (const listener of this.#listeners) listener.connected?.(connection);
    if (connection.worker !== "agent") this.#here?.add(connection);
  }

  remove(connection: TargetConnection): void {
    const key = formatKey(keyOf(connection));
    if (this.#connections.get(key) !== connection) return;
    this.#connections.delete(key);
    for (const listener of this.#listeners) listener.gone?.(connection);
    this.#here?.remove(connection);
  }
}

export function keyOf({ cluster, name }: Pick<TargetConnection, "cluster" | "name">): ObjectKey {
  return { cluster, namespace: "", name };
}
