/**
 * RestMapper: from kinds to resources and back, and from what people type (`deploy`, `deployments.apps`) to what they mean.
 *
 * It asks the server when it must, and again when something is not found, since types come and go at run time; but not more often than
 * every few seconds, since things that do not exist are asked for too.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { CallOptions, Client } from "../client/index.ts";
import type { ApiResource, Discovery } from "./api-resource.ts";
import { discover } from "./discover.ts";

export interface KindReference {
  readonly group: string;
  /** Any version, the preferred one first, if left out. */
  readonly version?: string | undefined;
  readonly kind: string;
}

export interface ResourceReference {
  readonly group: string;
  readonly version?: string | undefined;
  readonly resource: string;
}

export const rediscoverAfterMs = 5000;

export class RestMapper {
  readonly #client: Client;
  readonly #clock: Clock;
  #known: { readonly resources: readonly ApiResource[]; readonly atMs: number } | undefined;
  #asking: Promise<readonly ApiResource[]> | undefined;
  #failures: Discovery["failures"] = new Map();

  constructor(client: Client) {
    this.#client = client;
    this.#clock = client.clock;
  }

  /** Versions that the last discovery could not fetch. */
  get failures(): Discovery["failures"] {
    return this.#failures;
  }

  async resourceOf(
    reference: KindReference,
    options: CallOptions = {},
  ): Promise<ApiResource | undefined> {
    const { group, version, kind } = reference;
    return this.#find(
      (one) =>
        one.group === group &&
        one.kind === kind &&
        (version === undefined || one.version === version),
      options,
    );
  }

  async find(
    reference: ResourceReference,
    options: CallOptions = {},
  ): Promise<ApiResource | undefined> {
    const { group, version, resource } = reference;
    return this.#find(
      (one) =>
        one.group === group &&
        one.resource === resource &&
        (version === undefined || one.version === version),
      options,
    );
  }

  /**
   * What a person means by `pods`, `pod`, `po`, `Pod`, `deployments.apps` or `deployments.v1.apps`. Names go before short names, and groups in
   * the server's order.
   */
  async resolve(words: string, options: CallOptions = {}): Promise<ApiResource | undefined> {
    const lower = words.toLowerCase();
    const [name = "", ...rest] = lower.split(".");
    const qualifier = rest.join(".");
    const isIn = ({ group, version }: ApiResource) =>
      qualifier === "" || group === qualifier || joined(version, group) === qualifier;
    const isNamed = ({ resource, singular, kind }: ApiResource) =>
      resource === name || singular === name || kind.toLowerCase() === name;
    return (
      (await this.#find((one) => isIn(one) && isNamed(one), options, { mayAsk: false })) ??
      (await this.#find((one) => isIn(one) && one.shortNames.includes(name), options, {
        mayAsk: false,
      })) ??
      (await this.#find(
        (one) => isIn(one) && (isNamed(one) || one.shortNames.includes(name)),
        options,
      ))
    );
  }

  /** All resources, the preferred version of each group first. */
  async resources(options: CallOptions = {}): Promise<readonly ApiResource[]> {
    return this.#known?.resources ?? (await this.#ask(options));
  }

  /** Forgets what is known: after a type was installed. */
  invalidate(): void {
    this.#known = undefined;
  }

  async #find(
    matches: (one: ApiResource) => boolean,
    options: CallOptions,
    { mayAsk = true }: { readonly mayAsk?: boolean } = {},
  ): Promise<ApiResource | undefined> {
    const found = (await this.resources(options)).find(matches);
    if (found !== undefined || !mayAsk) return found;
    const ageMs = this.#clock.monotonic() - (this.#known?.atMs ?? Number.NEGATIVE_INFINITY);
    if (ageMs < rediscoverAfterMs) return undefined;
    return (await this.#ask(options)).find(matches);
  }

  /** Shared by all who ask at the same time: one of them giving up does not end it for the others. */
  async #ask({ signal }: CallOptions): Promise<readonly ApiResource[]> {
    this.#asking ??= this.#discover().finally(() => {
      this.#asking = undefined;
    });
    const resources = await this.#asking;
    signal?.throwIfAborted();
    return resources;
  }

  async #discover(): Promise<readonly ApiResource[]> {
    const { groups, failures } = await discover(this.#client);
    const resources = groups.flatMap(({ versions }) => versions.flatMap((one) => one.resources));
    this.#failures = failures;
    this.#known = { resources, atMs: this.#clock.monotonic() };
    return resources;
  }
}

function joined(version: string, group: string): string {
  return group === "" ? version : `${version}.${group}`;
}
