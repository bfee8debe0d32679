/**
 * IssuerKeys: the keys of an external issuer, found by discovery, cached, and fetched again when a
 * token names an unknown key.
 *
 * A withdrawn key is rejected within seconds: while tokens arrive, keys are refreshed in the
 * background, and keys that have not been refreshed for a while are not trusted before they are.
 * Unauthenticated clients can name unknown keys as often as they like, so fetches have a minimum
 * interval. While the issuer cannot be reached, the last known keys stay in use, and no request
 * waits for it.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { MaybePromise } from "../../request/api-request.ts";
import { parseKeySet, type VerificationKey } from "../jwt/keys.ts";

/**
 * Fetches JSON over HTTPS, with a timeout and a size limit; supplied by wiring, since
 * authentication knows no sockets.
 */
export type FetchDocument = (
  url: string,
  options: { readonly certificateAuthority: string | undefined },
) => Promise<unknown>;

/** The interval between two fetches, successful or not. */
export const fetchIntervalMinMs = 10_000;
/**
 * Older keys are not trusted before they have been fetched again, or the fetch has failed. Younger
 * keys are trusted while they are refreshed.
 */
export const keysAgeMaxMs = 30_000;

export interface IssuerKeysOptions {
  readonly issuer: string;
  readonly discoveryUrl: string | undefined;
  readonly certificateAuthority: string | undefined;
  readonly fetch: FetchDocument;
  readonly clock: Pick<Clock, "now">;
  readonly onError: (error: unknown, issuer: string) => void;
}

export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: readonly VerificationKey[] = [];
  /** The fetched document, to detect changes. */
  #text = "";
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;
  #isDown = false;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** The identical list as long as the keys are the same. */
  current(): MaybePromise<readonly VerificationKey[]> {
    const ageMs = this.#options.clock.now() - this.#fetchedAt;
    if (this.#keys.length === 0 || ageMs < fetchIntervalMinMs) return this.#keys;
    const isOut = this.#isDown;
    const fetching = this.#mayFetch() ? this.#fetch() : this.#fetching;
    if (fetching === undefined || isOut || ageMs < keysAgeMaxMs) return this.#keys;
    return fetching.then(() => this.#keys);
  }

  /** The keys for a token: the known ones, or newly fetched ones when its key is unknown. */
  forKey(keyId: string | undefined): MaybePromise<readonly VerificationKey[]> {
    const known = this.current();
    if (known instanceof Promise) return known;
    const isKnown = known.some((key) => keyId === undefined || key.keyId === keyId);
    if (isKnown || !(this.#mayFetch() || this.#fetching !== undefined)) return known;
    return this.#fetch().then(() => this.#keys);
  }

  #mayFetch(): boolean {
    return this.#options.clock.now() - this.#triedAt >= fetchIntervalMinMs;
  }

  /** Runs one fetch at a time, shared by all waiting requests. Never rejects: the old keys stay. */
  #fetch(): Promise<void> {
    this.#triedAt = this.#options.clock.now();
    this.#fetching ??= this.#load()
      .then(
        () => {
          this.#isDown = false;
        },
        (error: unknown) => {
          this.#isDown = true;
          this.#options.onError(error, this.#options.issuer);
        },
      )
      .finally(() => {
        this.#fetching = undefined;
      });
    return this.#fetching;
  }

  async #load(): Promise<void> {
    const { issuer, discoveryUrl, certificateAuthority, fetch, clock } = this.#options;
    const url = discoveryUrl ?? `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const found = ((await fetch(url, { certificateAuthority })) ?? {}) as {
      readonly issuer?: unknown;
      readonly jwks_uri?: unknown;
    };
    if (found.issuer !== issuer) {
      throw new Error(`${url} is the document of issuer ${String(found.issuer)}, not of ${issuer}`);
    }
    if (typeof found.jwks_uri !== "string" || !found.jwks_uri.startsWith("https://")) {
      throw new Error(`${url} names no https address for its keys`);
    }
    const set = await fetch(found.jwks_uri, { certificateAuthority });
    const keys = parseKeySet(set);
    this.#fetchedAt = clock.now();
    const text = JSON.stringify(set);
    if (text !== this.#text) {
      this.#text = text;
      this.#keys = keys;
    }
    // The issuer responded and has withdrawn all keys: all its tokens are rejected, and the
    // operator should know.
    if (keys.length === 0) throw new Error(`${found.jwks_uri} holds no key that can be used`);
  }
}
