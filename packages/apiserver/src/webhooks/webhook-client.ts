/**
 * Calls webhooks over HTTPS: JSON requests and responses, limited in time and size. Connections are
 * kept alive and shared by calls with the same CAs to the same host.
 */
import type { ClientRequest } from "node:http";
import { Agent, type RequestOptions, request } from "node:https";
import type { LookupFunction } from "node:net";
import { type Clock, type Resumable, runSyncFirst } from "@kcp-ts/machinery/base";
import {
  type Bound,
  BytesInFlight,
  type BytesInFlightLimits,
  bytesInFlight,
  type WorkBudget,
} from "@kcp-ts/machinery/bounds";
import { type JsonObject, type JsonValue, stringifyResumable } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { WebhookClientConfig } from "@kcp-ts/machinery/schema";
import { quote } from "@kcp-ts/machinery/status";
import { EncodedBody } from "../request/encoded-body.ts";
import { fileDescriptorShare } from "../request/file-descriptors.ts";
import { currentTrace, formatTraceparent } from "../request/trace-context.ts";
import { type AddressRule, deniedHostError, restrictedLookup } from "./private-addresses.ts";
import type { ServiceAddress } from "./service-endpoint.ts";
import { serviceAddressRule } from "./service-networks.ts";
import {
  connectionErrorMessage,
  parseResponseObject,
  receiveResponse,
  type WebhookResponse,
} from "./webhook-response.ts";

export interface WebhookClientOptions {
  readonly clock: Clock;
  readonly timeoutMs?: number;
  /** The limits of response bytes in flight, per logical cluster and in all. */
  readonly bytesInFlight?: BytesInFlightLimits;
  /** Rejects targets on this machine, in its network and at link-local addresses. */
  readonly denyPrivateAddresses?: boolean;
  /** The resolver of names, where private addresses are denied; the system's if omitted. */
  readonly resolve?: LookupFunction;
  /** Resolves Services that the operator configures: trusted for any address, and called first. */
  readonly services?: ServiceResolver;
  /** Resolves the Services of tenants that `services` does not know. */
  readonly serviceObjects?: ServiceObjects;
  /**
   * Networks in CIDR notation that Services of tenants may lead to, although they are private and
   * denied, or on this machine.
   */
  readonly serviceNetworks?: readonly string[];
  /** Runs work that leaves much garbage. */
  readonly markEarly?: MarkEarly | undefined;
}

type MarkEarly = <Result>(work: () => Promise<Result>) => Promise<Result>;

export interface ServiceReference {
  readonly cluster: ClusterName | undefined;
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/**
 * Resolves the Service of a webhook to a host and port; undefined when the Service does not exist.
 */
export type ServiceResolver = (service: ServiceReference) => ServiceAddress | undefined;

/** Resolves Services from objects that tenants write. Rejects with the error in them. */
export type ServiceObjects = (service: ServiceReference) => Promise<ServiceAddress | undefined>;

export interface WebhookCall {
  /** The limits of the response. */
  readonly answer: Bound;
  /** The logical cluster of the webhook, in which its Service is looked up. */
  readonly cluster?: ClusterName | undefined;
  readonly timeoutMs?: number;
  /** Aborts the call. */
  readonly signal?: AbortSignal;
  /** Counts the bytes of all responses to one request. */
  readonly budget?: WorkBudget;
}

/** As in Kubernetes, where it is fixed. */
const timeoutDefaultMs = 30_000;
/** Sockets per host of one logical cluster; further calls wait for one until their timeout. */
const socketsPerHostMax = 16;
/** Sockets of all logical clusters: a limit for the process. */
const socketsMax = 4096;
/**
 * Calls of one logical cluster in flight; further calls fail at once, so that no tenant can exhaust
 * the shared resources.
 */
export const callsPerClusterMax = 64;
const idleSocketMs = 20_000;
/** Parsing a longer response leaves much garbage. */
const largeLengthMin = 64 << 10;

export class WebhookClient {
  readonly #options: WebhookClientOptions;
  readonly #lookup: LookupFunction;
  readonly #serviceLookup: LookupFunction;
  readonly #isRefusedService: AddressRule;
  readonly #calls = new Map<string, number>();
  readonly #bufferedBytes: BytesInFlight;
  readonly #markEarly: MarkEarly;
  readonly #agent = new ClusterAgent({
    keepAlive: true,
    maxSockets: socketsPerHostMax,
    maxTotalSockets: fileDescriptorShare("webhooks", socketsMax),
    maxFreeSockets: 2,
    timeout: idleSocketMs,
  });

  /** Throws when a network of `serviceNetworks` is invalid. */
  constructor(options: WebhookClientOptions) {
    const { denyPrivateAddresses = false, serviceNetworks = [], resolve } = options;
    this.#options = options;
    this.#markEarly = options.markEarly ?? ((work) => work());
    this.#bufferedBytes = new BytesInFlight(options.bytesInFlight ?? bytesInFlight.webhookAnswers);
    this.#lookup = restrictedLookup(resolve);
    this.#isRefusedService = serviceAddressRule({ denyPrivateAddresses, serviceNetworks });
    this.#serviceLookup = restrictedLookup(resolve, this.#isRefusedService);
  }

  /** Throws an Error with a message for the administrator of the webhook. */
  async post(
    config: WebhookClientConfig,
    body: JsonValue | EncodedBody,
    call: WebhookCall,
  ): Promise<JsonObject> {
    const { timeoutMs = this.#options.timeoutMs ?? timeoutDefaultMs } = call;
    const url = urlOf(config);
    url.searchParams.set("timeout", `${timeoutMs / 1000}s`);
    const failed = (why: string) => new Error(`Post ${quote(shown(config, url))}: ${why}`);
    const pool = call.cluster ?? "";
    const underWay = this.#calls.get(pool) ?? 0;
    if (pool !== "" && underWay >= callsPerClusterMax)
      throw failed(`${callsPerClusterMax} calls of webhooks are in flight in this logical cluster`);
    this.#calls.set(pool, underWay + 1);
    const held = new BufferedResponse(this.#bufferedBytes, pool, call.budget);
    try {
      const written = body instanceof EncodedBody ? body : runSyncFirst(encodedBody(body));
      // A small body is sent at once: the timeout begins with the call.
      const encoded =
        written instanceof EncodedBody ? written : await this.#markEarly(() => written);
      const answer = await this.#call(config, url, encoded, { ...call, timeoutMs }, held).catch(
        (error: Error) => {
          throw failed(error.message);
        },
      );
      const parse = async () => runSyncFirst(parseResponseObject(answer, call.answer));
      const isLarge = (answer.text?.length ?? 0) > largeLengthMin;
      return await (isLarge ? this.#markEarly(parse) : parse());
    } finally {
      held.release();
      this.#releaseCall(pool);
    }
  }

  #releaseCall(pool: string): void {
    const underWay = (this.#calls.get(pool) ?? 1) - 1;
    if (underWay === 0) this.#calls.delete(pool);
    else this.#calls.set(pool, underWay);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #call(
    { service, caBundle }: WebhookClientConfig,
    url: URL,
    body: EncodedBody,
    call: WebhookCall & { readonly timeoutMs: number },
    held: BufferedResponse,
  ): Promise<WebhookResponse> {
    const { cluster } = call;
    const ca = caBundle === "" ? {} : { ca: Buffer.from(caBundle, "base64").toString("utf8") };
    const target =
      service === undefined
        ? this.#urlTarget(url)
        : await this.#serviceTarget({ ...service, cluster }, url);
    const options: PoolOptions = { ...ca, ...target, pool: cluster ?? "" };
    return this.#send(url, options, body, call, held);
  }

  #urlTarget({ hostname }: URL): RequestOptions {
    if (this.#options.denyPrivateAddresses !== true) return {};
    const refused = deniedHostError(hostname);
    if (refused !== undefined) throw refused;
    return { lookup: this.#lookup };
  }

  /**
   * At any address, the Service's in-cluster name is the TLS server name, and its certificate must
   * have it.
   */
  async #serviceTarget(service: ServiceReference, { hostname }: URL): Promise<RequestOptions> {
    const { services, serviceObjects } = this.#options;
    const spokenTo = { servername: hostname, headers: { host: `${hostname}:${service.port}` } };
    const known = services?.(service);
    if (known !== undefined) return { ...spokenTo, hostname: known.host, port: known.port };
    const found = await serviceObjects?.(service);
    if (found === undefined) throw new Error(`service ${quote(service.name)} not found`);
    const { host, port } = found;
    // An empty host would mean this machine.
    if (host === "") throw new Error("dial tcp: missing address");
    const refused = deniedHostError(host, this.#isRefusedService);
    if (refused !== undefined) throw refused;
    return { ...spokenTo, hostname: host, port, lookup: this.#serviceLookup };
  }

  #send(
    url: URL,
    target: RequestOptions,
    body: EncodedBody,
    { timeoutMs, signal, answer: bound }: WebhookCall & { readonly timeoutMs: number },
    held: BufferedResponse,
  ): Promise<WebhookResponse> {
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        finish();
        call.destroy();
        reject(new Error(why));
      };
      const onAbort = () => fail("context canceled");
      const finish = () => {
        timer.cancel();
        signal?.removeEventListener("abort", onAbort);
      };
      const call: ClientRequest = request(url, {
        method: "POST",
        agent: this.#agent,
        ...target,
        headers: {
          ...target.headers,
          ...traceHeader(),
          "content-type": "application/json",
          accept: "application/json",
          "content-length": body.length,
        },
      });
      const timer = clock.schedule(timeoutMs, () => fail("context deadline exceeded"));
      signal?.addEventListener("abort", onAbort);
      call.on("error", (error) => fail(connectionErrorMessage(error)));
      call.on("response", (response) => {
        receiveResponse(response, bound, (bytes) => held.take(bytes)).then(
          (answer) => {
            finish();
            resolve(answer);
          },
          (error: Error) => fail(connectionErrorMessage(error)),
        );
      });
      for (const part of body.parts) call.write(part);
      call.end();
      if (signal?.aborted) onAbort();
    });
  }
}

function* encodedBody(value: JsonValue): Resumable<EncodedBody> {
  return new EncodedBody([Buffer.from(yield* stringifyResumable(value))]);
}

/** The received bytes of one response, until it is parsed. */
class BufferedResponse {
  readonly #all: BytesInFlight;
  readonly #pool: string;
  readonly #budget: WorkBudget | undefined;
  #bytes = 0;

  constructor(all: BytesInFlight, pool: string, budget: WorkBudget | undefined) {
    this.#all = all;
    this.#pool = pool;
    this.#budget = budget;
  }

  take(bytes: number): void {
    this.#budget?.charge(bytes);
    if (!this.#all.tryTake(this.#pool, bytes))
      throw new Error("the answers of webhooks that are being read take too much memory");
    this.#bytes += bytes;
  }

  release(): void {
    this.#all.release(this.#pool, this.#bytes);
    this.#bytes = 0;
  }
}

/**
 * Logical clusters share no connections: a cluster that keeps a host busy does not delay others.
 */
class ClusterAgent extends Agent {
  getName(options?: PoolOptions): string {
    return `${usualName.call(this, options)}:${options?.pool ?? ""}`;
  }
}

type PoolOptions = RequestOptions & { readonly pool?: string };

/** Documented, and missing in the types. */
const usualName = (
  Agent.prototype as unknown as { getName(this: Agent, options?: PoolOptions): string }
).getName;

/** The URL of a Service has its in-cluster name, wherever it leads. */
function urlOf({ url, service }: WebhookClientConfig): URL {
  if (url !== undefined) return new URL(url);
  if (service === undefined) throw new Error("neither url nor service is given");
  const { namespace, name, port, path = "/" } = service;
  const found = new URL(`https://${name}.${namespace}.svc:${port}`);
  // Assigned and not resolved: no path can change the host.
  found.pathname = path;
  return found;
}

/** URLs omit the default port; messages about Services always have it. */
function shown(
  { service }: WebhookClientConfig,
  { href, hostname, pathname, search }: URL,
): string {
  return service === undefined ? href : `https://${hostname}:${service.port}${pathname}${search}`;
}

/** The call belongs to the trace of the request that it is made for. */
function traceHeader(): Readonly<Record<string, string>> {
  const trace = currentTrace();
  return trace === undefined ? {} : { traceparent: formatTraceparent(trace) };
}
