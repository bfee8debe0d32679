/**
 * Connections between shards over TLS: an upgrade of HTTP/1.1 at the port of clients, with the
 * certificate of the shard. Who has no certificate of the shards' authority gets what a path gets
 * that does not exist.
 */
import type { Duplex } from "node:stream";
import { connect, type TLSSocket } from "node:tls";
import {
  ClientCertificateAuthenticator,
  ReloadableClientCa,
} from "@kcp-ts/apiserver/authentication";
import {
  type ApiRequest,
  type ApiResponse,
  requestedUpgrade,
} from "@kcp-ts/apiserver/request/api-request";
import type { Clock } from "@kcp-ts/machinery/base";
import type { Here } from "./front-proxy.ts";
import type { ShardAddress, ShardNetwork, ShardOptions } from "./shard-connections.ts";
import { isShardName, rootShard } from "./shard-names.ts";

export interface TlsNetworkOptions {
  /** The name of this shard. */
  readonly ownName: string;
  /** Where root is; omitted by root. */
  readonly rootUrl?: string | undefined;
  /** The certificate of this shard, and its key. */
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  /** The authority of the shards' certificates. */
  readonly shardCaPem: string;
  /** The authority of the certificates by which shards serve; the system's if omitted. */
  readonly serverCaPem: string | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly onForwarded: NonNullable<ShardOptions["onForwarded"]>;
}

export const forwardedRequestsMetric = {
  name: "kcp_shard_forwarded_requests_total",
  help: "Requests that this shard sent on to another one, by the status of the response.",
  labels: ["shard", "code"],
} as const;

const linkPath = "/shard-link";
const protocol = "kcp-shard-1";
const userPrefix = "system:shard:";
const connectTimeoutMs = 5000;
const keepAliveMs = 15_000;
const answerBytesMax = 4096;

export class TlsShardNetwork implements ShardNetwork {
  readonly #options: TlsNetworkOptions;
  readonly #authenticator: ClientCertificateAuthenticator;
  readonly #addresses = new Map<string, string>();
  #ownUrl: string | undefined;

  constructor(options: TlsNetworkOptions) {
    this.#options = options;
    const { shardCaPem, clock, rootUrl } = options;
    const authorities = [new ReloadableClientCa(shardCaPem, "the authority of shards")];
    this.#authenticator = new ClientCertificateAuthenticator({ authorities, clock });
    if (rootUrl !== undefined) this.#addresses.set(rootShard, rootUrl);
  }

  /** The options of the shard that has these connections. */
  get shard(): Omit<ShardOptions, "processUser"> {
    const { ownName: name, onForwarded } = this.#options;
    const { setMembers: onMembers } = this;
    return { name, network: this, onMembers, onForwarded, baseUrl: () => this.#ownUrl };
  }

  /** The URL of this shard, once it listens. */
  listensAt(url: string): void {
    this.#ownUrl = url;
  }

  /** The handler of the listener: connections of shards are accepted in front of `handle`. */
  around(handle: Here, serve: (connection: Duplex, from: string) => void): Here {
    return (request) => this.#accept(request, serve) ?? handle(request);
  }

  names(): readonly string[] {
    return [...this.#addresses.keys()];
  }

  /** The address of root is what this shard was told at its start. */
  readonly setMembers = (members: readonly ShardAddress[]): void => {
    for (const { name, baseUrl } of members)
      if (name !== this.#options.ownName && name !== rootShard) this.#addresses.set(name, baseUrl);
    const names = new Set([rootShard, ...members.map(({ name }) => name)]);
    for (const name of this.#addresses.keys()) if (!names.has(name)) this.#addresses.delete(name);
  };

  async connect(shard: string): Promise<Duplex> {
    const address = this.#addresses.get(shard);
    if (address === undefined) throw Object.assign(new Error("no such shard"), { code: "ENOENT" });
    const url = new URL(address);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const { certificatePem: cert, privateKeyPem: key, serverCaPem: ca } = this.#options;
    const socket = connect({
      host,
      port: Number(url.port === "" ? 443 : url.port),
      cert,
      key,
      ALPNProtocols: ["http/1.1"],
      ...(ca === undefined ? {} : { ca }),
    });
    return upgraded(socket, url.host);
  }

  /** Serves a connection of another shard; undefined for other requests. */
  #accept(
    request: ApiRequest,
    serve: (connection: Duplex, from: string) => void,
  ): ApiResponse | undefined {
    if (request.target !== linkPath || requestedUpgrade(request.headers) !== protocol)
      return undefined;
    const from = this.#shardOf(request);
    if (from === undefined) return undefined;
    request.onAuthenticated?.(userPrefix + from);
    return {
      status: 101,
      headers: { connection: "Upgrade", upgrade: protocol },
      body: undefined,
      onUpgrade: (connection) => serve(connection, from),
    };
  }

  #shardOf({ clientCertificate }: ApiRequest): string | undefined {
    if (clientCertificate === undefined) return undefined;
    try {
      const username = this.#authenticator.authenticate({ clientCertificate })?.username ?? "";
      const name = username.slice(userPrefix.length);
      return username.startsWith(userPrefix) && isShardName(name) ? name : undefined;
    } catch {
      // The certificate is of another authority, as those of clients are.
      return undefined;
    }
  }
}

/** Resolves when the other shard has agreed. */
function upgraded(socket: TLSSocket, host: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    let answer = Buffer.alloc(0);
    const fail = (message: string) =>
      socket.destroy(Object.assign(new Error(message), { code: "ECONNREFUSED" }));
    const onData = (chunk: Buffer) => {
      answer = Buffer.from(answer.toString("latin1") + chunk.toString("latin1"), "latin1");
      const end = answer.indexOf("\r\n\r\n");
      if (end < 0) {
        if (answer.length > answerBytesMax) fail("no answer of a shard");
        return;
      }
      if (!answer.toString("latin1").startsWith("HTTP/1.1 101 ")) {
        fail("the server does not take this one for a shard");
        return;
      }
      socket.off("data", onData);
      socket.off("error", reject);
      socket.setTimeout(0);
      socket.pause();
      const rest = answer.subarray(end + 4);
      if (rest.length > 0) socket.unshift(rest);
      resolve(socket);
    };
    socket.on("data", onData);
    socket.on("error", reject);
    socket.once("close", () => reject(Object.assign(new Error("closed"), { code: "ECONNRESET" })));
    socket.setTimeout(connectTimeoutMs, () => fail("a shard did not answer in time"));
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveMs);
    const lines = [`GET ${linkPath} HTTP/1.1`, `host: ${host}`, "connection: Upgrade"];
    socket.write(`${[...lines, `upgrade: ${protocol}`, "", ""].join("\r\n")}`);
  });
}
