/**
 * Sends requests on to hosts that tenants name: a workspace that is a mount is served there. What a host learns of the client is who it is, never
 * by what it proved that: no tokens, no cookies, and no headers that speak in somebody's name go along.
 */
import type { IncomingMessage } from "node:http";
import { Agent, type RequestOptions, request as send } from "node:https";
import type { LookupFunction } from "node:net";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { type ApiRequest, type ApiResponse, header } from "../request/api-request.ts";
import type { UserInfo } from "../request/user.ts";
import { publicLookup, refusedHost } from "./private-addresses.ts";

export interface ForwarderOptions {
  /** Refuses targets on this machine, in its network and at link-local addresses. */
  readonly denyPrivateAddresses?: boolean;
  readonly resolve?: LookupFunction;
  /** What this server proves itself by, so that targets can believe what it says of users. */
  readonly certificatePem?: string | undefined;
  readonly privateKeyPem?: string | undefined;
  /** What targets must be signed by; the system's authorities if left out. */
  readonly caPem?: string | undefined;
  /** Told why a target did not answer. */
  readonly onError: (error: unknown, url: string) => void;
}

export interface ForwardedRequest {
  readonly request: ApiRequest;
  readonly user: UserInfo;
  /** The whole of it, path and query included. */
  readonly url: string;
  /** Whose mount it is. */
  readonly cluster: ClusterName;
  readonly isWatch: boolean;
  readonly signal: AbortSignal;
}

/** Requests of the mounts of one logical cluster under way; those beyond it are refused. */
export const forwardedPerClusterMax = 256;
/** As large as the largest object. */
const bodyBytesMax = 3 << 20;
const socketsPerHostMax = 64;
const socketsMax = 2048;
const idleSocketMs = 20_000;

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
  readonly #underWay = new Map<ClusterName, number>();
  readonly #agent = new Agent({
    keepAlive: true,
    maxSockets: socketsPerHostMax,
    maxTotalSockets: socketsMax,
    maxFreeSockets: 2,
    timeout: idleSocketMs,
  });

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#lookup = publicLookup(options.resolve);
  }

  async forward(forwarded: ForwardedRequest): Promise<ApiResponse> {
    const { cluster, request, user, url } = forwarded;
    const headers = { ...headersOf(request), ...identityOf(user) };
    const underWay = this.#underWay.get(cluster) ?? 0;
    if (underWay >= forwardedPerClusterMax) throw statusError.tooManyRequests(1);
    this.#underWay.set(cluster, underWay + 1);
    let isLeft = false;
    const leave = () => {
      if (!isLeft) this.#leave(cluster);
      isLeft = true;
    };
    try {
      const body = mayHaveBody(request) ? await request.readBody(bodyBytesMax) : undefined;
      const answer = await this.#send(new URL(url), forwarded, headers, body);
      answer.once("close", leave);
      return responseOf(answer, forwarded.isWatch);
    } catch (error) {
      leave();
      throw error;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #leave(cluster: ClusterName): void {
    const underWay = (this.#underWay.get(cluster) ?? 1) - 1;
    if (underWay === 0) this.#underWay.delete(cluster);
    else this.#underWay.set(cluster, underWay);
  }

  #send(
    url: URL,
    { request, signal }: ForwardedRequest,
    headers: Record<string, string | string[]>,
    body: Uint8Array | undefined,
  ): Promise<IncomingMessage> {
    const { onError, certificatePem, privateKeyPem, caPem, denyPrivateAddresses } = this.#options;
    const unreachable = (error: unknown) => {
      if (!signal.aborted) onError(error, url.origin);
      return statusError.unavailable("Not available.");
    };
    const refused = denyPrivateAddresses === true ? refusedHost(url.hostname) : undefined;
    if (refused !== undefined) throw unreachable(refused);
    const options: RequestOptions = {
      method: request.method,
      agent: this.#agent,
      headers,
      signal,
      ...(denyPrivateAddresses === true ? { lookup: this.#lookup } : {}),
      ...(certificatePem === undefined ? {} : { cert: certificatePem, key: privateKeyPem }),
      ...(caPem === undefined ? {} : { ca: caPem }),
    };
    return new Promise((resolve, reject) => {
      const call = send(url, options, resolve);
      call.on("error", (error) => reject(unreachable(error)));
      call.end(body);
    });
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

const headerText = /^[\t\x20-\x7e\x80-\xff]*$/;

/** In the words of the request-header authenticator of every API server. */
function identityOf({ username, groups, extra }: UserInfo): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {
    "x-remote-user": username,
    "x-remote-group": [...groups],
  };
  for (const [key, values] of Object.entries(extra ?? {}))
    headers[`x-remote-extra-${headerName(key)}`] = [...values];
  // What cannot be said of somebody is not left out: they would be somebody else.
  if (
    !Object.values(headers)
      .flat()
      .every((text) => headerText.test(text))
  )
    throw statusError.badRequest("the name of the user cannot be sent to a mount");
  return headers;
}

/** Percent-encoded but for what a header's name may have. */
function headerName(key: string): string {
  return encodeURIComponent(key)
    .replace(/[()]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`)
    .toLowerCase();
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
