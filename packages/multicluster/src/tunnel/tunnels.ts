/**
 * Tunnels: the agents that are connected to this process, by the SyncTarget whose cluster they are in. Who was let in was judged before.
 *
 * An agent that starts anew may come before its former connection is known to be dead: the newest counts, and the others go on until they end.
 */
import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import type { TargetIdentity } from "../syncer/index.ts";
import type { AgentPresence } from "./agent-presence.ts";
import { Multiplexer } from "./multiplexer.ts";
import type { ClusterRequest, PodConnector, PodResponse } from "./pod-door.ts";
import { isTexts, pickHeaders, returnedHeaders } from "./pod-request.ts";

export interface TunnelsOptions {
  readonly clock: Clock;
  /** Is told which tunnel of an agent is the newest, and that it broke when no other is left. */
  readonly presence?: Pick<AgentPresence, "opened" | "broken"> | undefined;
  /** For a log. */
  readonly onChange?:
    | ((target: TargetIdentity, isConnected: boolean, error?: Error) => void)
    | undefined;
}

/** Of the same SyncTarget: one in use, and those that are not known to be dead yet. */
const tunnelsPerTargetMax = 4;
const idBytes = 8;
/** How long an agent that lost its rights may still be asked. */
export const revokedGraceMs = 30_000;

export class Tunnels {
  readonly #options: TunnelsOptions;
  /** The newest first. */
  readonly #tunnels = new Map<string, Multiplexer[]>();
  /** Of the newest of each, while any is open: its name, and whether it has broken off. */
  readonly #newest = new Map<string, { readonly id: string; isBroken: boolean }>();

  constructor(options: TunnelsOptions) {
    this.#options = options;
  }

  /** A connection whose upgrade is done. `isWelcome` is asked from time to time whether the agent still is. */
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
        // Whoever cannot be asked has taken nothing away.
        () => {
          if (tunnel.isOpen) timer = clock.schedule(revokedGraceMs, look);
        },
      );
    };
    let timer = clock.schedule(revokedGraceMs, look);
    const known = [tunnel, ...(this.#tunnels.get(key) ?? [])];
    for (const old of known.splice(tunnelsPerTargetMax)) old.close("there are newer ones");
    this.#tunnels.set(key, known);
    this.#newest.set(key, newest);
    presence?.opened(target, newest.id);
    onChange?.(target, true);
  }

  /** None is left. */
  #ended(target: TargetIdentity): void {
    const key = keyOf(target);
    const newest = this.#newest.get(key);
    this.#tunnels.delete(key);
    this.#newest.delete(key);
    if (newest?.isBroken === true) this.#options.presence?.broken(target, newest.id);
  }

  /** Undefined when no agent of that SyncTarget is connected here. */
  find(target: TargetIdentity): PodConnector | undefined {
    const tunnel = this.#tunnels.get(keyOf(target))?.find(({ isOpen }) => isOpen);
    return (
      tunnel && { open: (request, signal) => tunnelConnector(tunnel, target, request, signal) }
    );
  }

  /** The SyncTarget is gone, or another: its agent has no business here. */
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
  const { stream, answer } = tunnel.open(request as unknown as JsonObject);
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
    return answerOf(await Promise.race([answer, lost]), stream);
  } catch (error) {
    stream.destroy();
    throw error;
  } finally {
    // Nobody waits for it any more.
    lost.catch(() => {});
  }
}

/** `{status, headers}` and bytes, or `{code, reason, message}` of a refusal. An agent is believed as little as anybody. */
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
  // Nothing more is asked.
  stream.end();
  return { status, headers: kept, body: stream };
}
