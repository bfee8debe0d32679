/**
 * The agent's end of a tunnel: it dials, and dials again when the connection breaks; requests
 * through the tunnel go to the PodProxy of its own cluster, which checks each of them itself.
 */
import type { Duplex } from "node:stream";
import type { Clock, Random } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError, StatusError, statusError } from "@kcp-ts/machinery/status";
import { type Client, headerText, isUpgraded, onAbort, resourcePath } from "@kcp-ts/sdk";
import { clientHandshake } from "@kcp-ts/sdk/websocket";
import { syncTargets } from "../api/index.ts";
import { readEphemeralRequest } from "./ephemeral-request.ts";
import { readMetricsRequest } from "./metrics-request.ts";
import { Multiplexer } from "./multiplexer.ts";
import { muxProtocol } from "./mux-frames.ts";
import type { MuxStream } from "./mux-stream.ts";
import type { PodConnector, PodResponse } from "./pod-proxy.ts";
import { readPodRequest } from "./pod-request.ts";

export interface TunnelOptions {
  /** A client of the SyncTarget's logical cluster, or of the agent's view of it. */
  readonly syncTargetClient: Client;
  readonly target: string;
  readonly podProxy: PodConnector;
  readonly clock: Clock;
  readonly random: Random;
  /** Why there is no connection; the agent dials again. */
  readonly onError: (error: unknown) => void;
  readonly onConnected?: (() => void) | undefined;
  /**
   * There is no connection, and the agent dials again; not called when the agent stops, which is no
   * loss.
   */
  readonly onDisconnected?: (() => void) | undefined;
}

export const redialFirstMs = 500;
export const redialMaxMs = 60_000;
/** A connection that lasted this long resets the backoff. */
export const stableConnectionMs = 30_000;

/** Runs until the signal aborts, and resolves when everything has ended. */
export async function runTunnel(options: TunnelOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, onError } = options;
  let waitMs = redialFirstMs;
  while (!signal.aborted) {
    const beganAtMs = clock.monotonic();
    try {
      await connected(options, signal);
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
    }
    if (signal.aborted) return;
    options.onDisconnected?.();
    if (clock.monotonic() - beganAtMs >= stableConnectionMs) waitMs = redialFirstMs;
    // The jitter keeps a thousand agents from dialling at the same time.
    const jitteredMs = waitMs * (0.5 + random.next());
    waitMs = Math.min(waitMs * 2, redialMaxMs);
    const { connectivity } = options.syncTargetClient;
    await connectivity.pause(clock, jitteredMs, signal).catch(() => {});
  }
}

/**
 * One connection, from its first byte to its last. Throws the reason why it ended, if there is one.
 */
async function connected(options: TunnelOptions, signal: AbortSignal): Promise<void> {
  const connection = await dialled(options, signal);
  await new Promise<void>((resolve, reject) => {
    const tunnel: Multiplexer = new Multiplexer({
      connection,
      role: "client",
      clock: options.clock,
      onOpen: (stream, head) => {
        serveStream(tunnel, stream, head, options.podProxy).catch(options.onError);
      },
      onClose: (error) => {
        stopListening();
        if (error === undefined) resolve();
        else reject(error);
      },
    });
    const stopListening = onAbort(signal, () => tunnel.close("the agent stops"));
    options.onConnected?.();
  });
}

async function dialled(
  { syncTargetClient, target }: TunnelOptions,
  signal: AbortSignal,
): Promise<Duplex> {
  const { headers, accept } = clientHandshake([muxProtocol]);
  const path = `${resourcePath(syncTargets, { name: target })}/tunnel`;
  const response = await syncTargetClient.upgrade({ method: "GET", path, headers, signal });
  if (!isUpgraded(response)) {
    const said = (await response.body.text()).slice(0, saidCharactersMax);
    throw new Error(`the control plane answered ${response.status} to the tunnel: ${said}`);
  }
  const connection = response.connection as Duplex;
  if (headerText(response.headers, "sec-websocket-accept") !== accept) {
    connection.destroy();
    throw new Error("the control plane did not accept the WebSocket handshake of the tunnel");
  }
  return connection;
}

const saidCharactersMax = 500;

/** Serves a stream that the other side opened. Throws errors for a log. */
export async function serveStream(
  tunnel: Multiplexer,
  stream: MuxStream,
  head: JsonValue,
  door: PodConnector,
): Promise<void> {
  const leaving = new AbortController();
  stream.once("close", () => leaving.abort(new Error("the other side went away")));
  let answer: PodResponse;
  try {
    const request = readPodRequest(head) ?? readMetricsRequest(head) ?? readEphemeralRequest(head);
    if (request === undefined) throw statusError.forbidden(pods, "", notAPodRequest);
    answer = await door.open(request, leaving.signal);
  } catch (error) {
    if (stream.destroyed) return;
    tunnel.sendReply(stream, refusalOf(error));
    stream.end();
    stream.resume();
    if (!isStatusError(error)) throw error;
    return;
  }
  const { status, headers } = answer;
  if (stream.destroyed) return abandon(answer);
  tunnel.sendReply(stream, { status, headers });
  if ("connection" in answer) spliceStreams(answer.connection, stream);
  else await copy(answer.body, stream);
}

const pods = { group: "", resource: "pods" } as const;
const notAPodRequest =
  "an agent opens logs and sessions of Pods that it brought up, adds containers to them, says what they use, and nothing else";

function refusalOf(error: unknown): JsonObject {
  const { code, reason, message } =
    error instanceof StatusError
      ? error
      : statusError.unavailable("the agent cannot ask its cluster: see its log");
  return { code, reason: String(reason), message };
}

function abandon(answer: PodResponse): void {
  if ("connection" in answer) answer.connection.destroy();
}

/**
 * Forwards bytes in both directions, with backpressure; when one stream ends, the other ends after
 * the pending bytes.
 */
export function spliceStreams(one: Duplex, other: Duplex): void {
  // An error is followed by a close event, which is handled.
  one.on("error", () => {});
  other.on("error", () => {});
  one.once("close", () => settle(other));
  other.once("close", () => settle(one));
  one.pipe(other);
  other.pipe(one);
}

/** The other side has ended: pending bytes are still delivered, and no more follow. */
function settle(stream: Duplex): void {
  if (stream.destroyed) return;
  stream.end(() => stream.destroy());
}

async function copy(body: AsyncIterable<Uint8Array>, stream: MuxStream): Promise<void> {
  stream.resume();
  for await (const chunk of body) {
    if (stream.destroyed) return;
    if (!stream.write(chunk)) await drained(stream);
  }
  stream.end();
}

function drained(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
    if (stream.destroyed) done();
  });
}
