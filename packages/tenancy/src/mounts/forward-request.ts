/**
 * Forwards requests to hosts that tenants name: such a host serves a mounted workspace. The host
 * gets the identity of the user, never the user's credentials: tokens, cookies, and impersonation
 * headers are not forwarded. Sessions (exec, attach, port-forward) are two connections, one to the
 * client and one to the host, that are joined when the host accepts the upgrade.
 */
import type { IncomingMessage } from "node:http";
import { Agent, type RequestOptions, request as send } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ApiRequest, type ApiResponse, header } from "@kcp-ts/apiserver/request/api-request";
import { fileDescriptorShare } from "@kcp-ts/apiserver/request/file-descriptors";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import { deniedHostError, restrictedLookup } from "@kcp-ts/apiserver/webhooks";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { type MountHosts, parseMountHosts } from "./mount-hosts.ts";
import { identityHeaders, isGlobalUser } from "./mount-identity.ts";
import { type MountTarget, mountTarget } from "./mount-target.ts";
import { pipeBothWays } from "./pipe-both-ways.ts";
import {
  type SessionProtocol,
  sessionProtocolOf,
  upgradeRequestHeaders,
  upgradeResponseHeaders,
} from "./session-headers.ts";

export interface ForwarderOptions {
  /** Rejects targets on this machine, in its network and at link-local addresses. */
  readonly denyPrivateAddresses?: boolean;
  readonly resolve?: LookupFunction;
  /**
   * The client certificate of this server, which authorizes its identity headers at the targets.
   */
  readonly certificatePem?: string | undefined;
  readonly privateKeyPem?: string | undefined;
  /** The hosts that may be mounted; none if omitted. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** The CA of the targets; the system's CAs if omitted. */
  readonly caPem?: string | undefined;
  /** Called with the reason when a target did not respond. */
  readonly onError: (error: unknown, url: string) => void;
}

export interface ForwardedRequest {
  readonly request: ApiRequest;
  readonly user: UserInfo;
  /** The URL of the mount. */
  readonly url: string;
  /** The path of the request below the mount, with a leading slash and the query. */
  readonly path: string;
  /** The logical cluster that owns the mount. */
  readonly cluster: ClusterName;
  readonly isWatch: boolean;
  readonly signal: AbortSignal;
}

/**
 * Forwarded requests in flight for the mounts of one logical cluster; further requests are
 * rejected.
 */
export const forwardedPerClusterMax = 256;
/** How many of them may be sessions, which are long-lived. */
export const sessionsPerClusterMax = 64;
/** The size of the largest object. */
const bodyBytesMax = 3 << 20;
const socketsPerHostMax = 64;
const socketsMax = 2048;
const idleSocketMs = 20_000;
/** Detects a host that is gone without closing the connection. */
const sessionKeepAliveMs = 30_000;

const sentHeaders = ["accept", "content-type", "user-agent"] as const;
const returnedHeaders = [
  "content-type",
  "retry-after",
  "warning",
  "cache-control",
  "etag",
] as const;

export class RequestForwarder {
  readonly #options: ForwarderOptions;
  readonly #lookup: LookupFunction;
  readonly #hosts: MountHosts;
  readonly #inFlight = new InFlightCounter(forwardedPerClusterMax);
  readonly #sessionsInFlight = new InFlightCounter(sessionsPerClusterMax);
  readonly #sessions = new Set<Duplex>();
  readonly #agent = new Agent({
    keepAlive: true,
    maxSockets: socketsPerHostMax,
    maxTotalSockets: fileDescriptorShare("mounts", socketsMax),
    maxFreeSockets: 2,
    timeout: idleSocketMs,
  });

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#lookup = restrictedLookup(options.resolve);
    this.#hosts = parseMountHosts(options.allowedHosts ?? []);
  }

  async forward(forwarded: ForwardedRequest): Promise<ApiResponse> {
    const { cluster, request, user, url, path } = forwarded;
    const target = mountTarget(url, path);
    this.#checkAllowed(target.url, user);
    const protocol = sessionProtocolOf(request.headers);
    const headers = {
      ...headersOf(request),
      ...(protocol === undefined ? {} : upgradeRequestHeaders(request.headers, protocol)),
      ...identityHeaders(user),
    };
    const leave = this.#enter(cluster, protocol);
    try {
      const body = mayHaveBody(request) ? await request.readBody(bodyBytesMax) : undefined;
      const answer = await this.#send(target, forwarded, headers, body, protocol);
      if ("head" in answer) return this.#session(answer, leave, forwarded.signal);
      answer.once("close", leave);
      return responseOf(answer, forwarded.isWatch);
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * Checked for every user with access to the workspace: the error reveals nothing that the
   * Workspace does not.
   */
  #checkAllowed(url: URL, user: UserInfo): void {
    if (!this.#hosts.allows(url))
      throw statusError.forbiddenPath(
        `the operator lets no workspace be mounted from ${url.host}: start the server with --mount-allowed-hosts=${url.host}`,
      );
    if (!isGlobalUser(user))
      throw statusError.forbiddenPath(
        `${user.username} is known to one workspace only and cannot be vouched for to the server that is mounted here: ask as a user of this server`,
      );
  }

  close(): void {
    this.#agent.destroy();
    for (const connection of this.#sessions) connection.destroy();
  }

  /** Counts a request until the returned function is called. */
  #enter(cluster: ClusterName, protocol: SessionProtocol | undefined): () => void {
    const leave = this.#inFlight.acquire(cluster);
    if (protocol === undefined) return leave;
    try {
      const leaveSessions = this.#sessionsInFlight.acquire(cluster);
      return () => {
        leave();
        leaveSessions();
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  #send(
    { url, path }: MountTarget,
    { request, signal }: ForwardedRequest,
    headers: Record<string, string | string[]>,
    body: Uint8Array | undefined,
    protocol: SessionProtocol | undefined,
  ): Promise<IncomingMessage | UpgradedConnection> {
    const { onError, certificatePem, privateKeyPem, caPem, denyPrivateAddresses } = this.#options;
    const unreachable = (error: unknown) => {
      if (!signal.aborted) onError(error, url.origin);
      return statusError.unavailable("Not available.");
    };
    const refused = denyPrivateAddresses === true ? deniedHostError(url.hostname) : undefined;
    if (refused !== undefined) throw unreachable(refused);
    const options: RequestOptions = {
      method: request.method,
      agent: this.#agent,
      path,
      headers,
      signal,
      ...(denyPrivateAddresses === true ? { lookup: this.#lookup } : {}),
      ...(certificatePem === undefined ? {} : { cert: certificatePem, key: privateKeyPem }),
      ...(caPem === undefined ? {} : { ca: caPem }),
    };
    return new Promise((resolve, reject) => {
      const call = send(url, options, resolve);
      call.on("error", (error) => reject(unreachable(error)));
      if (protocol !== undefined)
        call.on("upgrade", (answer, connection: Socket, head) => {
          const agreed = upgradeResponseHeaders(answer.headers, protocol);
          if (agreed !== undefined) return resolve({ headers: agreed, connection, head });
          connection.destroy();
          reject(
            unreachable(new Error("the mount agreed to another protocol than it was asked for")),
          );
        });
      call.end(body);
    });
  }

  #session(
    { headers, connection, head }: UpgradedConnection,
    leave: () => void,
    signal: AbortSignal,
  ): ApiResponse {
    this.#sessions.add(connection);
    connection.once("close", () => {
      this.#sessions.delete(connection);
      leave();
    });
    // Prevents an uncaught error before a reader is attached.
    connection.on("error", () => {});
    connection.setTimeout(0);
    connection.setNoDelay(true);
    connection.setKeepAlive(true, sessionKeepAliveMs);
    if (head.length > 0) connection.unshift(head);
    const end = () => connection.destroy();
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
    const onUpgrade = (client: Duplex) => pipeBothWays(client, connection);
    return { status: 101, headers, body: undefined, onUpgrade };
  }
}

/** A host that has accepted an upgrade to another protocol. */
interface UpgradedConnection {
  readonly headers: Record<string, string>;
  readonly connection: Socket;
  /** The first bytes that the host sent after the upgrade. */
  readonly head: Buffer;
}

/** Limits the requests in flight per logical cluster. */
class InFlightCounter {
  readonly #max: number;
  readonly #counts = new Map<ClusterName, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Throws a 429 when too many requests are in flight; returns an idempotent release function. */
  acquire(cluster: ClusterName): () => void {
    const count = this.#counts.get(cluster) ?? 0;
    if (count >= this.#max) throw statusError.tooManyRequests(1);
    this.#counts.set(cluster, count + 1);
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      const left = (this.#counts.get(cluster) ?? 1) - 1;
      if (left === 0) this.#counts.delete(cluster);
      else this.#counts.set(cluster, left);
    };
  }
}

function mayHaveBody({ method }: ApiRequest): boolean {
  return method !== "GET" && method !== "HEAD" && method !== "OPTIONS";
}

function headersOf({ headers }: ApiRequest): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const name of sentHeaders) {
    const value = header(headers, name);
    if (value !== undefined) sent[name] = value;
  }
  return sent;
}

function responseOf(answer: IncomingMessage, isWatch: boolean): ApiResponse {
  const status = answer.statusCode ?? 0;
  // Redirects of the host are not forwarded to clients.
  if (status < 200 || (status >= 300 && status < 400)) {
    answer.destroy();
    throw statusError.unavailable("Not available.");
  }
  const headers: Record<string, string | string[]> = {};
  for (const name of returnedHeaders) {
    const value = answer.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  return { status, headers, body: answer, ...(isWatch ? { isWatch } : {}) };
}
