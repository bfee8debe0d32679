/**
 * Calls webhooks over HTTPS: JSON out, JSON in, within a time and a size. Connections are kept and shared by all who trust the same
 * authorities for the same host.
 */
import type { ClientRequest } from "node:http";
import { Agent, type RequestOptions, request } from "node:https";
import type { LookupFunction } from "node:net";
import { type Clock, runSyncFirst } from "@kcp-ts/machinery/base";
import {
  type Bound,
  BytesInFlight,
  type BytesInFlightLimits,
  bytesInFlight,
} from "@kcp-ts/machinery/bounds";
import { type JsonObject, type JsonValue, stringifyResumable } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { WebhookClientConfig } from "@kcp-ts/machinery/schema";
import { quote } from "@kcp-ts/machinery/status";
import { fileDescriptorShare } from "../request/file-descriptors.ts";
import { type AddressRule, deniedHostError, restrictedLookup } from "./private-addresses.ts";
import type { ServiceAddress } from "./service-endpoint.ts";
import { serviceAddressRule } from "./service-networks.ts";
import {
  connectionErrorMessage,
  parseResponseObject,
  receiveResponse,
  type WebhookResponse,
} from "./webhook-answer.ts";

export interface WebhookClientOptions {
  readonly clock: Clock;
  readonly timeoutMs?: number;
  /** Bytes of answers that are held at a time, of one logical cluster and of all. */
  readonly bytesInFlight?: BytesInFlightLimits;
  /** Refuses targets on this machine, in its network and at link-local addresses. */
  readonly denyPrivateAddresses?: boolean;
  /** How names become addresses, where private ones are denied; as the system does it if left out. */
  readonly resolve?: LookupFunction;
  /** Where services are that the operator knows of: believed wherever it leads, and asked first. */
  readonly services?: ServiceResolver;
  /** Where the Services of tenants are: those that `services` does not know. */
  readonly serviceObjects?: ServiceObjects;
  /** In CIDR notation: where Services of tenants may lead, although it is private and that is denied, or on this machine. */
  readonly serviceNetworks?: readonly string[];
}

export interface ServiceReference {
  readonly cluster: ClusterName | undefined;
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** From a service that a webhook is to be found at to a host and port that can be called; undefined when there is no such service. */
export type ServiceResolver = (service: ServiceReference) => ServiceAddress | undefined;

/** The same, of objects that tenants write. Rejects with what is wrong with them. */
export type ServiceObjects = (service: ServiceReference) => Promise<ServiceAddress | undefined>;

export interface WebhookCall {
  /** What the answer may be. */
  readonly answer: Bound;
  /** Whose webhook it is: services are looked for there. */
  readonly cluster?: ClusterName | undefined;
  readonly timeoutMs?: number;
  /** Ends the call early. */
  readonly signal?: AbortSignal;
}

/** As in Kubernetes, where it cannot be chosen. */
const timeoutDefaultMs = 30_000;
/** Of one logical cluster; calls beyond them wait for one, as long as they have time. */
const socketsPerHostMax = 16;
/** Of all logical clusters together: a bound for what the process holds. */
const socketsMax = 4096;
/** Calls of one logical cluster under way; those beyond it fail at once, so that nobody can use up what all share. */
export const callsPerClusterMax = 64;
const idleSocketMs = 20_000;

export class WebhookClient {
  readonly #options: WebhookClientOptions;
  readonly #lookup: LookupFunction;
  readonly #serviceLookup: LookupFunction;
  readonly #isRefusedService: AddressRule;
  readonly #calls = new Map<string, number>();
  readonly #held: BytesInFlight;
  readonly #agent = new ClusterAgent({
    keepAlive: true,
    maxSockets: socketsPerHostMax,
    maxTotalSockets: fileDescriptorShare("webhooks", socketsMax),
    maxFreeSockets: 2,
    timeout: idleSocketMs,
  });

  /** Throws when a network of `serviceNetworks` is none. */
  constructor(options: WebhookClientOptions) {
    const { denyPrivateAddresses = false, serviceNetworks = [], resolve } = options;
    this.#options = options;
    this.#held = new BytesInFlight(options.bytesInFlight ?? bytesInFlight.webhookAnswers);
    this.#lookup = restrictedLookup(resolve);
    this.#isRefusedService = serviceAddressRule({ denyPrivateAddresses, serviceNetworks });
    this.#serviceLookup = restrictedLookup(resolve, this.#isRefusedService);
  }

  /** Throws an Error that says what went wrong, in words for whoever looks after the webhook. */
  async post(config: WebhookClientConfig, body: JsonValue, call: WebhookCall): Promise<JsonObject> {
    const { timeoutMs = this.#options.timeoutMs ?? timeoutDefaultMs } = call;
    const url = urlOf(config);
    url.searchParams.set("timeout", `${timeoutMs / 1000}s`);
    const failed = (why: string) => new Error(`Post ${quote(shown(config, url))}: ${why}`);
    const pool = call.cluster ?? "";
    const underWay = this.#calls.get(pool) ?? 0;
    if (pool !== "" && underWay >= callsPerClusterMax)
      throw failed(`${callsPerClusterMax} calls of webhooks are under way in this logical cluster`);
    this.#calls.set(pool, underWay + 1);
    const held = new BufferedResponse(this.#held, pool);
    try {
      const written = runSyncFirst(stringifyResumable(body));
      const text = typeof written === "string" ? written : await written;
      const answer = await this.#call(config, url, text, { ...call, timeoutMs }, held).catch(
        (error: Error) => {
          throw failed(error.message);
        },
      );
      return await runSyncFirst(parseResponseObject(answer, call.answer));
    } finally {
      held.release();
      this.#leave(pool);
    }
  }

  #leave(pool: string): void {
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
    body: string,
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

  /** Wherever it is, it is spoken to as what it is in its cluster, and must be certified as that. */
  async #serviceTarget(service: ServiceReference, { hostname }: URL): Promise<RequestOptions> {
    const { services, serviceObjects } = this.#options;
    const spokenTo = { servername: hostname, headers: { host: `${hostname}:${service.port}` } };
    const known = services?.(service);
    if (known !== undefined) return { ...spokenTo, hostname: known.host, port: known.port };
    const found = await serviceObjects?.(service);
    if (found === undefined) throw new Error(`service ${quote(service.name)} not found`);
    const { host, port } = found;
    // Left out, it would be this machine.
    if (host === "") throw new Error("dial tcp: missing address");
    const refused = deniedHostError(host, this.#isRefusedService);
    if (refused !== undefined) throw refused;
    return { ...spokenTo, hostname: host, port, lookup: this.#serviceLookup };
  }

  #send(
    url: URL,
    target: RequestOptions,
    body: string,
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
          "content-type": "application/json",
          accept: "application/json",
          "content-length": Buffer.byteLength(body),
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
      call.end(body);
      if (signal?.aborted) onAbort();
    });
  }
}

/** What has come of one answer, from its first byte until it is read. */
class BufferedResponse {
  readonly #all: BytesInFlight;
  readonly #pool: string;
  #bytes = 0;

  constructor(all: BytesInFlight, pool: string) {
    this.#all = all;
    this.#pool = pool;
  }

  take(bytes: number): void {
    if (!this.#all.tryTake(this.#pool, bytes))
      throw new Error("the answers of webhooks that are being read take too much memory");
    this.#bytes += bytes;
  }

  release(): void {
    this.#all.release(this.#pool, this.#bytes);
    this.#bytes = 0;
  }
}

/** Logical clusters share no connections: one that keeps a host busy does not make others wait for it. */
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

/** A service is called by the name that it has in a cluster, wherever that leads. */
function urlOf({ url, service }: WebhookClientConfig): URL {
  if (url !== undefined) return new URL(url);
  if (service === undefined) throw new Error("neither url nor service is given");
  const { namespace, name, port, path = "/" } = service;
  const found = new URL(`https://${name}.${namespace}.svc:${port}`);
  // Set and not resolved: whatever it looks like, a path names no other host.
  found.pathname = path;
  return found;
}

/** URLs leave out the usual port; of services it is always told. */
function shown(
  { service }: WebhookClientConfig,
  { href, hostname, pathname, search }: URL,
): string {
  return service === undefined ? href : `https://${hostname}:${service.port}${pathname}${search}`;
}
