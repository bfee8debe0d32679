/**
 * RestMapper: maps kinds to resources and back, and what users type (`deploy`, `deployments.apps`)
 * to resources.
 *
 * It runs discovery when it must, and again when a kind or resource is not found, since types are
 * added and removed at run time; but at most every few seconds, since lookups of types that do not
 * exist are frequent.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { CallOptions, Client } from "../client/index.ts";
import type { ApiResource, Discovery } from "./api-resource.ts";
import { discover } from "./discover.ts";

export interface KindReference {
  readonly group: string;
  /** Any version, the preferred one first, if omitted. */
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
   * The resource that a user means by `pods`, `pod`, `po`, `Pod`, `deployments.apps` or
   * `deployments.v1.apps`. Names take precedence over short names, and groups are in the server's
   * order.
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

  /** Drops the cached discovery: after a type was installed. */
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

  /**
   * One discovery is shared by all concurrent callers: a caller that aborts does not end it for the
   * others.
   */
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
