/**
 * Targets: the physical clusters that this process is connected to. Controllers that work in
 * clusters (the importer, the syncer) subscribe here, and never see a kubeconfig.
 *
 *     targets.subscribe({
 *       connected: ({ cluster, name, client, signal }) => start(…),
 *       disconnected: ({ cluster, name }) => stop(…),
 *     });
 *
 * A connection that fails for a while stays connected: requests fail, and succeed again later. A
 * connection ends when its SyncTarget is deleted, or when its kubeconfig changes, in which case a
 * new connection follows.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Client, formatKey, type ObjectKey } from "@kcp-ts/sdk";
import type { SyncTarget } from "../api/index.ts";

export interface TargetConnection {
  /** The logical cluster of the SyncTarget. */
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
  /**
   * Whether this process or an agent syncs the cluster. With an agent, this connection is used only
   * for the agent's installation.
   */
  readonly worker?: "here" | "agent";
  /** A client of the physical cluster. */
  readonly client: Client;
  /** Aborts when this connection ends. */
  readonly signal: AbortSignal;
}

export interface TargetListener {
  connected?(connection: TargetConnection): void;
  disconnected?(connection: TargetConnection): void;
}

/**
 * Called repeatedly while a SyncTarget is being deleted: `done` when no synced object is left in
 * the cluster. `connection` is undefined when there is no connection to the cluster.
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

  /** The clusters that this process syncs, for controllers that import or sync. */
  get localTargets(): Targets {
    if (this.#here !== undefined) return this.#here;
    this.#here = new Targets();
    for (const connection of this.#connections.values())
      if (connection.worker !== "agent") this.#here.add(connection);
    return this.#here;
  }

  get size(): number {
    return this.#connections.size;
  }

  /**
   * Notifies the listener of the existing connections, and of changes from now on. Returns the
   * function that unsubscribes.
   */
  subscribe(listener: TargetListener): () => void {
    this.#listeners.add(listener);
    for (const connection of this.#connections.values()) listener.connected?.(connection);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Blocks the deletion of SyncTargets until the hook returns done. Returns the function that
   * removes the hook.
   */
  onDrain(hook: DrainHook): () => void {
    this.#drains.add(hook);
    return () => this.#drains.delete(hook);
  }

  /** Whether all hooks are done. */
  async drain(...[target, context]: Parameters<DrainHook>): Promise<"done" | "pending"> {
    const answers = await Promise.all([...this.#drains].map((hook) => hook(target, context)));
    if (this.#here !== undefined) answers.push(await this.#here.drain(target, context));
    return answers.every((answer) => answer === "done") ? "done" : "pending";
  }

  /** Called by the SyncTarget controller. */
  add(connection: TargetConnection): void {
    this.#connections.set(formatKey(keyOf(connection)), connection);
    for (const listener of this.#listeners) listener.connected?.(connection);
    if (connection.worker !== "agent") this.#here?.add(connection);
  }

  remove(connection: TargetConnection): void {
    const key = formatKey(keyOf(connection));
    if (this.#connections.get(key) !== connection) return;
    this.#connections.delete(key);
    for (const listener of this.#listeners) listener.disconnected?.(connection);
    this.#here?.remove(connection);
  }
}

export function keyOf({ cluster, name }: Pick<TargetConnection, "cluster" | "name">): ObjectKey {
  return { cluster, namespace: "", name };
}
