/**
 * Routes through other servers of the same control plane: a cluster is connected to one server
 * (Push), or its agent has dialled one server (Pull), and a request arrives at any server. Both
 * ends are servers on the same store, so the request has already been authorized; it is parsed as
 * strictly as any other input.
 *
 * A session is a connection of its own between the two servers: sessions are few, and end with
 * their connection.
 */
import type { Duplex } from "node:stream";
import type { Clock } from "@kcp-ts/machinery/base";
import { statusError } from "@kcp-ts/machinery/status";
import { type Client, headerText, isUpgraded, startDeadline } from "@kcp-ts/sdk";
import { clientHandshake } from "@kcp-ts/sdk/websocket";
import type { TargetIdentity } from "../syncer/index.ts";
import { Multiplexer } from "./multiplexer.ts";
import { muxProtocol } from "./mux-frames.ts";
import type { PodConnector, PodResponse } from "./pod-proxy.ts";
import { serveStream } from "./run-tunnel.ts";
import { tunnelConnector } from "./tunnels.ts";

export interface Peer {
  /** The server's name, for error messages. */
  readonly name: string;
  /** A client of the server, for all logical clusters. */
  readonly client: Client;
  /** The path at which the server accepts sessions; the target is sent in the query. */
  readonly path: string;
}

export interface PeerRouterOptions {
  /** The current servers without this one. */
  readonly peers: (signal: AbortSignal) => Promise<readonly Peer[]>;
  /** The message when no other server is known, though there may be some. */
  readonly hint?: string | undefined;
  readonly clock: Clock;
}

/** The timeout for a server to respond whether it has a connection. */
export const peerTimeoutMs = 5000;

export class PeerRouter {
  readonly #options: PeerRouterOptions;

  constructor(options: PeerRouterOptions) {
    this.#options = options;
  }

  /** `sorry`: creates the error when no server has a connection, with their responses. */
  connectorTo(target: TargetIdentity, sorry: (asked: string) => Error): PodConnector {
    return {
      open: async (request, signal): Promise<PodResponse> => {
        const { connection, asked } = await this.#dialled(target, signal);
        if (connection === undefined) throw sorry(asked);
        const { clock } = this.#options;
        const session = new Multiplexer({ connection, role: "client", clock, onClose: () => {} });
        try {
          const answer = await tunnelConnector(session, target, request, signal);
          const stream = "connection" in answer ? answer.connection : (answer.body as Duplex);
          stream.once("close", () => session.close());
          return answer;
        } catch (error) {
          session.close();
          throw error;
        }
      },
    };
  }

  async #dialled(
    target: TargetIdentity,
    signal: AbortSignal,
  ): Promise<{ readonly connection: Duplex | undefined; readonly asked: string }> {
    const said: string[] = [];
    for (const peer of await this.#options.peers(signal)) {
      const deadline = startDeadline({
        clock: this.#options.clock,
        timeoutMs: peerTimeoutMs,
        signal,
        what: `asking the server ${peer.name}`,
      });
      try {
        const connection = await dial(peer, target, deadline.signal);
        if (connection !== undefined) return { connection, asked: "" };
        said.push(`${peer.name} has no way either`);
      } catch (error) {
        signal.throwIfAborted();
        said.push(`${peer.name} cannot be asked (${(error as Error).message})`);
      } finally {
        deadline.cancel();
      }
    }
    const asked = said.length === 0 ? (this.#options.hint ?? "") : said.join(", ");
    return { connection: undefined, asked };
  }
}

/** Undefined when that server has no connection to the cluster. */
async function dial(
  { client, path, name }: Peer,
  target: TargetIdentity,
  signal: AbortSignal,
): Promise<Duplex | undefined> {
  const { headers, accept } = clientHandshake([muxProtocol]);
  const query = new URLSearchParams({ ...target });
  const response = await client.upgrade({
    method: "GET",
    path: `${path}?${query}`,
    headers,
    signal,
    retriesMax: 0,
  });
  if (!isUpgraded(response)) {
    const text = await response.body.text();
    if (response.status === noRouteStatus) return undefined;
    throw new Error(`it answers ${response.status}: ${text.slice(0, saidCharactersMax)}`);
  }
  const connection = response.connection as Duplex;
  if (headerText(response.headers, "sec-websocket-accept") === accept) return connection;
  connection.destroy();
  throw new Error(`${name} does not speak WebSocket`);
}

const saidCharactersMax = 200;
/** The server has no connection: neither an error, nor a reason to retry there. */
const noRouteStatus = 404;

export function noRouteHere({ name }: Pick<TargetIdentity, "name">): Error {
  return statusError.notFound({ group: "workload.kcp.io", resource: "synctargets" }, name);
}

/** The other end: forwards requests from the connection to `way`. */
export function servePeer(options: {
  readonly connection: Duplex;
  readonly way: PodConnector;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}): void {
  const { connection, way, clock, onError } = options;
  const session: Multiplexer = new Multiplexer({
    connection,
    role: "server",
    clock,
    onOpen: (stream, head) => {
      serveStream(session, stream, head, way).catch(onError);
    },
    onClose: () => {},
  });
}
