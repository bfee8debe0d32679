/**
 * Records on SyncTargets whether their agents are connected, by their tunnels: a broken tunnel is
 * detected within seconds, and an agent with a tunnel seldom renews its Lease.
 *
 *     accepted ──▶ status.tunnel: { id, server }
 *     broken, and not dialled again soon ──▶ { id, server, disconnectedAt: the last renewTime }
 *
 * Nothing is written in between. A recorded disconnection counts until the next renewal: an agent
 * that cannot dial may still be alive. The record names the tunnel, and is written only while that
 * tunnel is the newest one: the agent may have dialled another server of this store. A server that
 * stops or dies records nothing, and so reports no agent as lost; another server finds that
 * `server` is not alive, and waits for a renewal (`registration/agent-liveness.ts`).
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, pause } from "@kcp-ts/sdk";
import { leases } from "@kcp-ts/sdk/kinds";
import {
  renewalOf,
  syncerLeaseName,
  syncerLeaseNamespace,
  syncTargets,
  writeSyncTargetStatus,
} from "../api/index.ts";
import type { TargetIdentity } from "../syncer/index.ts";

export interface AgentPresenceOptions {
  /** A client that may write in every logical cluster. */
  readonly client: () => Client;
  /**
   * The name of this process, by which other processes can check whether it is alive; undefined
   * where they cannot.
   */
  readonly server?: (() => string | undefined) | undefined;
  readonly clock: Clock;
  /** Reports a failed write, which is retried. */
  readonly onError: (error: unknown) => void;
}

interface TunnelReport {
  readonly target: TargetIdentity;
  readonly id: string;
  readonly isBroken: boolean;
}

/** An agent that is alive dials again within this time after its tunnel breaks. */
export const redialGraceMs = 1000;
const retryMs = 500;

export class AgentPresence {
  readonly #options: AgentPresenceOptions;
  readonly #stop = new AbortController();
  /** The newest unwritten report of each SyncTarget. */
  readonly #unsaid = new Map<string, TunnelReport>();
  readonly #waiting = new Map<string, Timer>();
  readonly #telling = new Map<string, Promise<void>>();

  constructor(options: AgentPresenceOptions) {
    this.#options = options;
  }

  opened(target: TargetIdentity, id: string): void {
    this.#say({ target, id, isBroken: false });
  }

  broken(target: TargetIdentity, id: string): void {
    if (this.#stop.signal.aborted) return;
    const key = keyOf(target);
    this.#waiting.get(key)?.cancel();
    const timer = this.#options.clock.schedule(redialGraceMs, () =>
      this.#say({ target, id, isBroken: true }),
    );
    this.#waiting.set(key, timer);
  }

  /** No report is written from here on. Resolves when the write in flight has finished. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const timer of this.#waiting.values()) timer.cancel();
    this.#waiting.clear();
    await Promise.all(this.#telling.values());
  }

  #say(saying: TunnelReport): void {
    if (this.#stop.signal.aborted) return;
    const key = keyOf(saying.target);
    this.#waiting.get(key)?.cancel();
    this.#waiting.delete(key);
    this.#unsaid.set(key, saying);
    if (this.#telling.has(key)) return;
    const telling = this.#tell(key).finally(() => this.#telling.delete(key));
    this.#telling.set(key, telling);
  }

  async #tell(key: string): Promise<void> {
    const { signal } = this.#stop;
    for (let saying = this.#unsaid.get(key); saying !== undefined; saying = this.#unsaid.get(key)) {
      try {
        await this.#write(saying);
        if (this.#unsaid.get(key) === saying) this.#unsaid.delete(key);
      } catch (error) {
        if (signal.aborted) return;
        // A concurrent write: the object is read again.
        if (isStatusError(error, "Conflict")) continue;
        this.#options.onError(error);
        await pause(this.#options.clock, retryMs, signal).catch(() => {});
        if (signal.aborted) return;
      }
    }
  }

  async #write({ target, id, isBroken }: TunnelReport): Promise<void> {
    const { signal } = this.#stop;
    const { cluster, name, uid } = target;
    const client = this.#options.client().inCluster(cluster);
    const resource = client.resource(syncTargets);
    const found = await resource.find({ name }, { signal });
    if (found?.metadata.uid !== uid) return;
    // There is a newer tunnel.
    if (isBroken && found.status?.tunnel?.id !== id) return;
    const server = isBroken ? found.status?.tunnel?.server : this.#options.server?.();
    const tunnel = {
      id,
      ...(server === undefined ? {} : { server }),
      ...(isBroken ? { disconnectedAt: await lastRenewTime(client, name, signal) } : {}),
    };
    const write = { client, target: found, signal, isConditional: true };
    await writeSyncTargetStatus(write, "tunnels", { tunnel });
  }
}

async function lastRenewTime(client: Client, name: string, signal: AbortSignal): Promise<string> {
  const at = { namespace: syncerLeaseNamespace, name: syncerLeaseName(name) };
  return renewalOf(await client.resource(leases).find(at, { signal }))?.renewTime ?? "";
}

function keyOf({ cluster, name, uid }: TargetIdentity): string {
  return JSON.stringify([cluster, name, uid]);
}
