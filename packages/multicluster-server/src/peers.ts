/**
 * The registry of the servers of one store: each server writes its address and credentials to a
 * Secret of the system logical cluster, which only the servers can read. A server that has no
 * connection to a Pod's cluster finds the other servers there (docs/adr/0044).
 *
 * The credentials permit one thing: sessions with Pods of clusters that the server is connected to.
 * Every process creates new ones.
 */
import { randomBytes, randomUUID } from "node:crypto";
import type {
  AdditionalSubresource,
  ApiResponse,
  Authorizer,
  ConnectRequest,
  ServerLog,
  SubresourceStrategy,
  UserInfo,
} from "@kcp-ts/apiserver";
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import {
  hashDigits,
  muxProtocol,
  noRouteHere,
  type Peer,
  PeerRouter,
  type PodConnections,
  servePeer,
} from "@kcp-ts/multicluster";
import {
  type Client,
  type Connection,
  connect,
  parseKubeconfig,
  type StringMap,
} from "@kcp-ts/sdk";
import { serverHandshake } from "@kcp-ts/sdk/websocket";
import { secrets, systemNamespace } from "./system-secrets.ts";

export interface PeersOptions {
  /** A client that may do everything in the system logical cluster. */
  readonly client: () => Client;
  /** Creates a token that only this server accepts. */
  readonly tokenFor: (user: UserInfo) => string;
  /** Whether there may be other servers. */
  readonly isStoreShared: boolean;
  readonly clock: Clock;
  readonly log: Pick<ServerLog, "debug" | "warn">;
}

/**
 * The address at which other servers reach this one, and the CA to verify it; the system's CAs if
 * omitted.
 */
export interface PeerAddress {
  readonly url: string;
  readonly caPem?: string | undefined;
}

export const peerLabel = "core.kcp.io/peer";
const subresource = "sessions";
const fieldManager = "kcp-peers";
/** The interval of renewals of a record. */
export const peerRenewMs = 20_000;
/** A server whose record is older is not asked any more. */
export const peerExpiryMs = 70_000;
/** How long the existence of a server is cached. */
const thereMs = 5000;
const identityBytes = 8;

export class Peers {
  /** Routes through the other servers. */
  readonly router: PeerRouter;
  /** Permits the other servers to open sessions, and nothing else. */
  readonly authorizer: Authorizer = { authorize: (attributes) => this.#decide(attributes) };
  readonly #options: PeersOptions;
  /** No other client can have this identity: only servers that read the token know the uid. */
  readonly #user: UserInfo = { username: "system:kcp:peer", uid: randomUUID(), groups: [] };
  /** The identity of this process: a process that replaces it has another one. */
  readonly #identity = randomBytes(identityBytes).toString("hex");
  /** When other servers were last found, by their identities. */
  readonly #foundAtMs = new Map<string, number>();
  readonly #connections = new Map<string, Connection>();
  #address: PeerAddress | undefined;
  #timer: Timer | undefined;
  #publishing: Promise<void> = Promise.resolve();

  constructor(options: PeersOptions) {
    this.#options = options;
    const { clock, isStoreShared } = options;
    const hint = isStoreShared
      ? "another server may be: servers on one store ask each other if each is started with --peer-url"
      : undefined;
    this.router = new PeerRouter({ clock, hint, peers: (signal) => this.#others(signal) });
  }

  /** Publishes this server to the others. */
  start(address: PeerAddress): void {
    this.#address = address;
    this.#publish();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#publishing;
    const { name } = this;
    this.#address = undefined;
    for (const connection of this.#connections.values()) await connection.close();
    this.#connections.clear();
    if (name === undefined) return;
    try {
      const { namespace } = systemNamespace;
      await this.#secrets.delete({ namespace, name });
    } catch (error) {
      // The record of a stopped server expires.
      this.#options.log.debug({ err: error }, "the server could not take back where it is");
    }
  }

  /** The name of the server's record; undefined while it has none. */
  get name(): string | undefined {
    return this.#address && nameFor(this.#address.url);
  }

  /**
   * The identity by which others can check whether this process is alive; undefined where they
   * cannot find it.
   */
  get identity(): string | undefined {
    const canBeFound = !this.#options.isStoreShared || this.#address !== undefined;
    return canBeFound ? this.#identity : undefined;
  }

  /**
   * Whether the server process with that identity runs, as far as known: a process that died
   * without removing its record counts as alive until the record expires, or its address belongs to
   * another process.
   */
  async isAlive(identity: string, signal: AbortSignal): Promise<boolean> {
    if (identity === this.#identity) return true;
    if (!this.#options.isStoreShared) return false;
    const nowMs = this.#options.clock.monotonic();
    const foundAtMs = this.#foundAtMs.get(identity) ?? Number.NEGATIVE_INFINITY;
    if (nowMs - foundAtMs < thereMs) return true;
    this.#foundAtMs.clear();
    for (const { record } of await this.#records(signal))
      this.#foundAtMs.set(record.identity, nowMs);
    return this.#foundAtMs.has(identity);
  }

  /** The endpoint for other servers: `secrets/<record>/sessions` of the system logical cluster. */
  endpoint(connections: Pick<PodConnections, "localConnector">): AdditionalSubresource {
    const sessions: SubresourceStrategy = {
      prepareForUpdate: () => {},
      validateUpdate: () => [],
      verbs: ["get"],
      connect: async (call) => this.#accept(call, connections),
    };
    return ({ group, resource }, scope) => {
      const isHere = group === "" && resource === "secrets" && scope.subresource === subresource;
      const isOurs = scope.cluster === systemNamespace.cluster && scope.service === undefined;
      return isHere && isOurs ? sessions : undefined;
    };
  }

  #accept(
    { user, scope, query, headers }: ConnectRequest,
    connections: Pick<PodConnections, "localConnector">,
  ): ApiResponse {
    if (!this.#isPeer(user) || scope.name !== this.name)
      throw statusError.forbidden(secrets, scope.name, "sessions are for other servers");
    const text = (name: string) => query.get(name) ?? "";
    const target = { cluster: text("cluster"), name: text("name"), uid: text("uid") };
    const way = connections.localConnector(target);
    if (way === undefined) throw noRouteHere(target);
    const handshake = serverHandshake(headers, [muxProtocol]);
    if (handshake === undefined)
      throw statusError.badRequest(`sessions are a WebSocket that speaks ${muxProtocol}`);
    const { clock, log } = this.#options;
    const onError = (error: unknown) => log.debug({ err: error }, "a session of a peer failed");
    return {
      status: 101,
      headers: handshake.headers,
      body: undefined,
      onUpgrade: (connection) => servePeer({ connection, way, clock, onError }),
    };
  }

  #decide({
    user,
    cluster,
    verb,
    isResourceRequest,
    ...asked
  }: Parameters<Authorizer["authorize"]>[0]) {
    const isTheirs =
      this.#isPeer(user) &&
      isResourceRequest &&
      cluster === (systemNamespace.cluster as ClusterName) &&
      verb === "get" &&
      asked.group === "" &&
      asked.resource === "secrets" &&
      asked.subresource === subresource &&
      asked.namespace === systemNamespace.namespace &&
      asked.name === this.name;
    return isTheirs ? { allowed: true, reason: "a server of the same store" } : noOpinion;
  }

  #isPeer({ username, uid }: UserInfo): boolean {
    return username === this.#user.username && uid === this.#user.uid;
  }

  get #secrets() {
    return this.#options.client().inCluster(systemNamespace.cluster).resource(secrets);
  }

  #publish(): void {
    const { clock, log } = this.#options;
    this.#publishing = this.#write().catch((error: unknown) => {
      log.warn({ err: error }, "cannot publish the address of this server for its peers; retrying");
    });
    this.#timer = clock.schedule(peerRenewMs, () => this.#publish());
  }

  async #write(): Promise<void> {
    const { clock, tokenFor } = this.#options;
    if (this.#address === undefined) return;
    const { url, caPem = "" } = this.#address;
    const record = {
      url,
      ca: caPem,
      token: tokenFor(this.#user),
      identity: this.#identity,
      renewedAt: String(clock.now()),
    };
    const data = Object.fromEntries(
      Object.entries(record).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    );
    const { namespace } = systemNamespace;
    const metadata = { namespace, name: nameFor(url), labels: { [peerLabel]: "true" } };
    await this.#secrets.apply({ metadata, data }, { fieldManager, force: true });
  }

  /** The records of the current servers without this one. */
  async #records(signal: AbortSignal) {
    const { namespace } = systemNamespace;
    const labelSelector = `${peerLabel}=true`;
    const { items } = await this.#secrets.list({ namespace, labelSelector, signal });
    const nowMs = this.#options.clock.now();
    return items
      .map(({ metadata: { name }, data }) => ({ name, record: recordOf(data) }))
      .filter(({ name, record }) => name !== this.name && nowMs - record.renewedAt <= peerExpiryMs);
  }

  async #others(signal: AbortSignal): Promise<readonly Peer[]> {
    if (!this.#options.isStoreShared) return [];
    const { namespace } = systemNamespace;
    const peers: Peer[] = [];
    const inUse = new Set<string>();
    for (const { name, record } of await this.#records(signal)) {
      const id = JSON.stringify([record.url, record.token]);
      inUse.add(id);
      const path = `/clusters/${systemNamespace.cluster}/api/v1/namespaces/${namespace}/secrets/${name}/${subresource}`;
      peers.push({ name: record.url, client: this.#connected(id, record).client, path });
    }
    for (const [id, connection] of this.#connections) {
      if (inUse.has(id)) continue;
      this.#connections.delete(id);
      await connection.close();
    }
    return peers;
  }

  #connected(id: string, record: PeerRecord): Connection {
    const known = this.#connections.get(id);
    if (known !== undefined) return known;
    const made = connect(parseKubeconfig(kubeconfigOf(record), { trust: "inline" }), { env: {} });
    this.#connections.set(id, made);
    return made;
  }
}

const noOpinion = { allowed: false, reason: "" };

function nameFor(url: string): string {
  return `kcp-peer-${hashDigits(url, 16)}`;
}

interface PeerRecord {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  /** Empty in the record of an older server. */
  readonly identity: string;
  readonly renewedAt: number;
}

function recordOf(data: StringMap | undefined): PeerRecord {
  const text = (key: string) => Buffer.from(data?.[key] ?? "", "base64").toString("utf8");
  const [url, ca, token, identity] = [text("url"), text("ca"), text("token"), text("identity")];
  return { url, ca, token, identity, renewedAt: Number(text("renewedAt")) };
}

function kubeconfigOf({ url, ca, token }: PeerRecord): string {
  const authority =
    ca === "" ? {} : { "certificate-authority-data": Buffer.from(ca).toString("base64") };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "peer", cluster: { server: url, ...authority } }],
    users: [{ name: "peer", user: { token } }],
    contexts: [{ name: "peer", context: { cluster: "peer", user: "peer" } }],
    "current-context": "peer",
  });
}
