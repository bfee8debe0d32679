/**
 * Sends requests on to hosts that tenants name: a workspace that is a mount is served there. What a host learns of the client is who it is, never
 * by what it proved that: no tokens, no cookies, and no headers that speak in somebody's name go along. Sessions (exec, attach, port-forward) are
 * two connections, one to the client and one to the host, that are joined when the host agrees.
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
import { pipeBothWays } from "./join-streams.ts";
import { type MountHosts, parseMountHosts } from "./mount-hosts.ts";
import { identityHeaders, isGlobalUser } from "./mount-identity.ts";
import { type MountTarget, mountTarget } from "./mount-target.ts";
import {
  type SessionProtocol,
  sessionProtocolOf,
  upgradeRequestHeaders,
  upgradeResponseHeaders,
} from "./session-headers.ts";

export interface ForwarderOptions {
  /** Refuses targets on this machine, in its network and at link-local addresses. */
  readonly denyPrivateAddresses?: boolean;
  readonly resolve?: LookupFunction;
  /** What this server proves itself by, so that targets can believe what it says of users. */
  readonly certificatePem?: string | undefined;
  readonly privateKeyPem?: string | undefined;
  /** Where mounts may be; nowhere if left out. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** What targets must be signed by; the system's authorities if left out. */
  readonly caPem?: string | undefined;
  /** Told why a target did not answer. */
  readonly onError: (error: unknown, url: string) => void;
}

export interface ForwardedRequest {
  readonly request: ApiRequest;
  readonly user: UserInfo;
  /** Where the mount is. */
  readonly url: string;
  /** What is asked of it, with a slash first and the query behind. */
  readonly path: string;
  /** Whose mount it is. */
  readonly cluster: ClusterName;
  readonly isWatch: boolean;
  readonly signal: AbortSignal;
}

/** Requests of the mounts of one logical cluster under way; those beyond it are refused. */
export const forwardedPerClusterMax = 256;
/** How many of them may be sessions, which last. */
export const sessionsPerClusterMax = 64;
/** As large as the largest object. */
const bodyBytesMax = 3 << 20;
const socketsPerHostMax = 64;
const socketsMax = 2048;
const idleSocketMs = 20_000;
/** A host that is gone without a word is noticed. */
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
  readonly #underWay = new InFlightCounter(forwardedPerClusterMax);
  readonly #sessionsUnderWay = new InFlightCounter(sessionsPerClusterMax);
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

  /** Asked of everybody who may enter: what they are told says nothing that the workspace does not. */
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

  /** Counts it until it leaves. */
  #enter(cluster: ClusterName, protocol: SessionProtocol | undefined): () => void {
    const leave = this.#underWay.enter(cluster);
    if (protocol === undefined) return leave;
    try {
      const leaveSessions = this.#sessionsUnderWay.enter(cluster);
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
    // Until somebody reads it, an error would be nobody's.
    connection.on("error", () => {});
    connection.setTimeout(0);
    connection.setNoDelay(true);
    connection.setKeepAlive(true, sessionKeepAliveMs);
    if (head.length > 0) connection.unshift(head);
    const end = () => connection.destroy();
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
    const takeOver = (client: Duplex) => pipeBothWays(client, connection);
    return { status: 101, headers, body: undefined, takeOver };
  }
}

/** A host that has agreed to speak another protocol. */
interface UpgradedConnection {
  readonly headers: Record<string, string>;
  readonly connection: Socket;
  /** What it has said already. */
  readonly head: Buffer;
}

/** So many at a time for each logical cluster. */
class InFlightCounter {
  readonly #max: number;
  readonly #counts = new Map<ClusterName, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Throws a 429 when there are too many; returns how to leave, which may be said more than once. */
  enter(cluster: ClusterName): () => void {
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
  // Where another host sends clients is not for us to pass on.
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
