/**
 * Says on SyncTargets whether their agents are there, by their tunnels: one that breaks off is known in seconds, and who has one writes few heartbeats.
 *
 *     accepted ──▶ status.tunnel: { id, server }  ──▶ broken off, and not dialled again at once ──▶ { id, server, brokenAfter: the last heartbeat }
 *
 * Nothing is written in between. What is said of a broken tunnel counts until a heartbeat comes: an agent that cannot dial may still be there. It names the tunnel, and is said
 * only as long as that is the newest one: an agent may have dialled another server of this store. A server that stops or dies says nothing, and so takes nobody for lost; who comes after it
 * finds that `server` is gone, and waits for a sign of life (`registration/agent-silence.ts`).
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, pause } from "@kcp-ts/sdk";
import { type SyncTarget, syncTargets } from "../api/index.ts";
import type { TargetIdentity } from "../syncer/index.ts";

export interface AgentPresenceOptions {
  /** May write in every logical cluster. */
  readonly client: () => Client;
  /** What this process is called, where others can tell by that whether it is there; undefined where they cannot. */
  readonly server?: (() => string | undefined) | undefined;
  readonly clock: Clock;
  /** What could not be said and is tried again. */
  readonly onError: (error: unknown) => void;
}

interface TunnelReport {
  readonly target: TargetIdentity;
  readonly id: string;
  readonly isBroken: boolean;
}

/** A tunnel that breaks while its agent is there is dialled again within this. */
export const redialGraceMs = 1000;
const retryMs = 500;
const fieldManager = "kcp-tunnels";

export class AgentPresence {
  readonly #options: AgentPresenceOptions;
  readonly #stop = new AbortController();
  /** The newest of each SyncTarget; what is said already is not here. */
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

  /** Nothing is said from here on. Resolves when what was being said is. */
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
        // A heartbeat came in between, or the like: what it changes is looked at.
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
    const resource = this.#options.client().inCluster(cluster).resource(syncTargets);
    const found = await resource.find({ name }, { signal });
    if (found?.metadata.uid !== uid) return;
    const tunnel = isBroken ? brokenTunnel(found, id) : this.#openTunnel(id);
    if (tunnel === undefined) return;
    const { resourceVersion = "" } = found.metadata;
    const patch = { metadata: { uid, resourceVersion }, status: { tunnel } };
    await resource.patchStatus({ name }, { type: "merge", patch }, { fieldManager, signal });
  }

  #openTunnel(id: string) {
    return { id, server: this.#options.server?.() ?? null, brokenAfter: null };
  }
}

/** Undefined when there is a newer one. */
function brokenTunnel({ status = {} }: SyncTarget, id: string) {
  if (status.tunnel?.id !== id) return undefined;
  return { id, brokenAfter: status.lastHeartbeatTime ?? "" };
}

function keyOf({ cluster, name, uid }: TargetIdentity): string {
  return JSON.stringify([cluster, name, uid]);
}
