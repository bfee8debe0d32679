/**
 * Tunnels: the agents that are connected to this process, by their SyncTarget. Accepted agents have
 * been authenticated and authorized before.
 *
 * An agent that restarts may connect before its former connection is detected as dead: the newest
 * connection is used, and the others stay until they end.
 */
import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import { connectedTunnels } from "../api/index.ts";
import type { TargetIdentity } from "../syncer/index.ts";
import type { AgentPresence } from "./agent-presence.ts";
import { Multiplexer } from "./multiplexer.ts";
import type { ClusterRequest, PodConnector, PodResponse } from "./pod-proxy.ts";
import { isTexts, pickHeaders, returnedHeaders } from "./pod-request.ts";

export interface TunnelsOptions {
  readonly clock: Clock;
  /** Is notified of the newest tunnel of an agent, and when it breaks and no other is left. */
  readonly presence?: Pick<AgentPresence, "opened" | "broken"> | undefined;
  /** For a log. */
  readonly onChange?:
    | ((target: TargetIdentity, isConnected: boolean, error?: Error) => void)
    | undefined;
}

/** The limit for one SyncTarget: one tunnel in use, and dead ones that are not detected yet. */
const tunnelsPerTargetMax = 4;
const idBytes = 8;
/** How long an agent that lost its permission may still get requests. */
export const revokedGraceMs = 30_000;

export class Tunnels {
  readonly #options: TunnelsOptions;
  /** The newest tunnel first. */
  readonly #tunnels = new Map<string, Multiplexer[]>();
  /** The newest tunnel of each SyncTarget, while any is open: its id, and whether it has broken. */
  readonly #newest = new Map<string, { readonly id: string; isBroken: boolean }>();

  constructor(options: TunnelsOptions) {
    this.#options = options;
  }

  /**
   * Accepts a connection after its upgrade. `isWelcome` is called at intervals to check whether the
   * agent still has permission.
   */
  accept(
    target: TargetIdentity,
    connection: Duplex,
    isWelcome: () => Promise<boolean> = async () => true,
  ): void {
    const key = keyOf(target);
    const { clock, onChange, presence } = this.#options;
    const newest = { id: randomBytes(idBytes).toString("hex"), isBroken: false };
    const tunnel: Multiplexer = new Multiplexer({
      connection,
      role: "server",
      clock,
      onClose: (error) => {
        timer.cancel();
        newest.isBroken = error !== undefined;
        const others = (this.#tunnels.get(key) ?? []).filter((one) => one !== tunnel);
        if (others.length === 0) this.#ended(target);
        else this.#tunnels.set(key, others);
        onChange?.(target, others.length > 0, error);
      },
    });
    const look = () => {
      isWelcome().then(
        (still) => {
          if (!still) tunnel.close("the agent may not sync to this cluster any more");
          else if (tunnel.isOpen) timer = clock.schedule(revokedGraceMs, look);
        },
        // A failed check does not revoke the permission.
        () => {
          if (tunnel.isOpen) timer = clock.schedule(revokedGraceMs, look);
        },
      );
    };
    let timer = clock.schedule(revokedGraceMs, look);
    const known = [tunnel, ...(this.#tunnels.get(key) ?? [])];
    for (const old of known.splice(tunnelsPerTargetMax)) old.close("there are newer ones");
    if (!this.#tunnels.has(key)) connectedTunnels.add(1);
    this.#tunnels.set(key, known);
    this.#newest.set(key, newest);
    presence?.opened(target, newest.id);
    onChange?.(target, true);
  }

  /** Called when no tunnel of the SyncTarget is left. */
  #ended(target: TargetIdentity): void {
    const key = keyOf(target);
    const newest = this.#newest.get(key);
    if (this.#tunnels.delete(key)) connectedTunnels.add(-1);
    this.#newest.delete(key);
    if (newest?.isBroken === true) this.#options.presence?.broken(target, newest.id);
  }

  /** Undefined when no agent of that SyncTarget is connected to this process. */
  find(target: TargetIdentity): PodConnector | undefined {
    const tunnel = this.#tunnels.get(keyOf(target))?.find(({ isOpen }) => isOpen);
    return (
      tunnel && { open: (request, signal) => tunnelConnector(tunnel, target, request, signal) }
    );
  }

  /** The SyncTarget was deleted or replaced: its agent is disconnected. */
  drop(target: TargetIdentity): void {
    for (const tunnel of this.#tunnels.get(keyOf(target)) ?? [])
      tunnel.close("not wanted any more");
  }

  close(): void {
    for (const tunnels of [...this.#tunnels.values()]) {
      for (const tunnel of tunnels) tunnel.close("the server stops");
    }
  }
}

function keyOf({ cluster, name, uid }: TargetIdentity): string {
  return JSON.stringify([cluster, name, uid]);
}

export async function tunnelConnector(
  tunnel: Multiplexer,
  target: TargetIdentity,
  request: ClusterRequest,
  signal: AbortSignal,
): Promise<PodResponse> {
  signal.throwIfAborted();
  const { stream, sendReply } = tunnel.open(request as unknown as JsonObject);
  const leave = () => stream.destroy();
  signal.addEventListener("abort", leave, { once: true });
  stream.once("close", () => signal.removeEventListener("abort", leave));
  const lost = new Promise<never>((_, reject) => {
    stream.once("close", () =>
      reject(
        statusError.unavailable(
          `the tunnel to ${target.name} broke while it was asked: try again, and see kubectl describe synctarget ${target.name}`,
        ),
      ),
    );
  });
  try {
    return answerOf(await Promise.race([sendReply, lost]), stream);
  } catch (error) {
    stream.destroy();
    throw error;
  } finally {
    // No caller awaits it any more.
    lost.catch(() => {});
  }
}

/**
 * `{status, headers}` and bytes, or `{code, reason, message}` of an error. The agent is not
 * trusted.
 */
function answerOf(head: JsonValue, stream: Duplex): PodResponse {
  if (!isJsonObject(head)) throw statusError.unavailable("the agent's answer makes no sense");
  const { status, headers = {}, code, reason, message } = head as Record<string, JsonValue>;
  if (typeof code === "number") {
    throw new StatusError({
      code: code >= 400 && code < 600 && code !== 401 ? code : 502,
      reason: String(reason ?? ""),
      message: String(message ?? ""),
    });
  }
  if (!isTexts(headers)) throw statusError.unavailable("the agent's answer makes no sense");
  const kept = pickHeaders(headers, returnedHeaders);
  if (status === 101)
    return { status, headers: { ...kept, connection: "Upgrade" }, connection: stream };
  if (status !== 200) throw statusError.unavailable("the agent's answer makes no sense");
  // No more is sent.
  stream.end();
  return { status, headers: kept, body: stream };
}
