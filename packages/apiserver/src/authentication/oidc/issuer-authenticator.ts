/**
 * Tokens of somebody else's issuer (OpenID Connect ID tokens): signed by one of its keys, meant for us, within their time; the
 * claims then say who it is.
 *
 * What a token makes of its bearer is remembered until it ends, or until the issuer's keys change.
 */
import { hash } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import { credentialIdKey, type UserInfo } from "../../request/index.ts";
import type { MaybePromise, TokenAuthenticator, TokenIdentity } from "../authenticator.ts";
import { BoundedCache } from "../bearer-token.ts";
import { AuthenticationError } from "../errors.ts";
import { isSignedBy, type JsonWebToken, parseJsonWebToken } from "../jwt/json-web-token.ts";
import type { VerificationKey } from "../jwt/keys.ts";
import { withAuthenticatedGroup } from "../request-authenticator.ts";
import { type ClaimMapping, compileMapping } from "./claim-mapping.ts";
import { type FetchDocument, IssuerKeys } from "./issuer-keys.ts";
import type { JwtIssuer } from "./jwt-issuer.ts";

export interface IssuerAuthenticatorOptions {
  readonly issuer: JwtIssuer;
  /** This server's own: what a review of such a token answers, since the issuer's audiences are names of clients. */
  readonly apiAudiences: readonly string[];
  readonly fetch: FetchDocument;
  readonly clock: Pick<Clock, "now">;
  readonly onError: (error: unknown, issuer: string) => void;
  readonly cacheEntriesMax?: number;
  /** Those of the one whose place it takes; found out anew if left out. */
  readonly keys?: IssuerKeys | undefined;
}

/** Tokens that are remembered; beyond that the one unused for longest is verified again. */
export const cachedTokensMax = 4096;

/** How far in the future a token may begin: clocks differ. */
export const notBeforeSkewMs = 5 * 60_000;

interface CachedToken {
  readonly user: UserInfo;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly keys: readonly VerificationKey[];
}

export class IssuerAuthenticator implements TokenAuthenticator {
  readonly #options: IssuerAuthenticatorOptions;
  readonly #mapping: ClaimMapping;
  readonly #keys: IssuerKeys;
  readonly #cacheEntriesMax: number;
  /** By the token's SHA-256, the least recently used first; only what was accepted. */
  readonly #remembered = new Map<string, CachedToken>();
  /** Hashes of tokens that were accepted lately. */
  readonly #recent = new BoundedCache<string>();

  /** Throws `AuthenticationConfigurationError` when an expression does not compile. */
  constructor(options: IssuerAuthenticatorOptions) {
    const { issuer, fetch, clock, onError } = options;
    const { url, discoveryUrl, certificateAuthority } = issuer;
    this.#options = options;
    this.#mapping = compileMapping(issuer);
    const place = { issuer: url, discoveryUrl, certificateAuthority };
    this.#keys = options.keys ?? new IssuerKeys({ ...place, fetch, clock, onError });
    this.#cacheEntriesMax = options.cacheEntriesMax ?? cachedTokensMax;
  }

  /** Its keys, if those of an issuer would be found at the same place: for one that takes its place by other rules. */
  keysOf({ url, discoveryUrl, certificateAuthority }: JwtIssuer): IssuerKeys | undefined {
    const { issuer } = this.#options;
    const isSame =
      issuer.url === url &&
      issuer.discoveryUrl === discoveryUrl &&
      issuer.certificateAuthority === certificateAuthority;
    return isSame ? this.#keys : undefined;
  }

  authenticateToken(token: string): MaybePromise<UserInfo | undefined> {
    // Three parts or nothing: other kinds of tokens are not worth a hash.
    if (!token.includes(".")) return undefined;
    const recent = this.#recent.get(token);
    const id = recent ?? hash("sha256", token, "base64url");
    const known = this.#remembered.get(id);
    if (known !== undefined) {
      const keys = this.#keys.current();
      if (keys instanceof Promise)
        return keys.then((found) => this.#recall(id, known, found) ?? this.#verify(id, token));
      const user = this.#recall(id, known, keys);
      if (user !== undefined && recent === undefined) this.#recent.keep(token, id);
      if (user !== undefined) return user;
    }
    return this.#verify(id, token);
  }

  /** Undefined when the keys are others by now. */
  #recall(id: string, known: CachedToken, keys: readonly VerificationKey[]): UserInfo | undefined {
    if (known.keys !== keys) return undefined;
    if (this.#options.clock.now() >= known.expiresAt) throw refusal("it has expired");
    this.#remember(id, known);
    return known.user;
  }

  #verify(id: string, token: string): MaybePromise<UserInfo | undefined> {
    const parsed = parseJsonWebToken(token);
    if (parsed === undefined || parsed.claims["iss"] !== this.#options.issuer.url) return undefined;
    const keys = this.#keys.forKey(parsed.keyId);
    return keys instanceof Promise
      ? keys.then((found) => this.#accept(id, parsed, found))
      : this.#accept(id, parsed, keys);
  }

  reviewToken(
    token: string,
    audiences: readonly string[],
  ): MaybePromise<TokenIdentity | undefined> {
    const own = audiences.filter((audience) => this.#options.apiAudiences.includes(audience));
    if (own.length === 0 && audiences.length > 0) return undefined;
    const user = this.authenticateToken(token);
    const identity = (found: UserInfo | undefined) => found && { user: found, audiences: own };
    return user instanceof Promise ? user.then(identity) : identity(user);
  }

  #accept(id: string, token: JsonWebToken, keys: readonly VerificationKey[]): UserInfo {
    const { issuer } = this.#options;
    if (!issuer.algorithms.includes(token.algorithm)) throw refusal("its algorithm is not allowed");
    if (keys.length === 0) throw refusal("the keys of its issuer are not known yet");
    if (!isSignedBy(token, keys)) throw refusal("its signature is not right");
    const expiresAt = this.#checkTime(token);
    const { aud, jti } = token.claims;
    const meant = Array.isArray(aud) ? aud : [aud];
    if (!issuer.audiences.some((audience) => meant.includes(audience))) {
      throw refusal("it is meant for others");
    }
    const mapped = withAuthenticatedGroup(this.#mapping(token.claims));
    const isNamed = typeof jti === "string" && jti !== "";
    const user = isNamed
      ? { ...mapped, extra: { ...mapped.extra, [credentialIdKey]: [`JTI=${jti}`] } }
      : mapped;
    this.#remember(id, { user, expiresAt, keys });
    return user;
  }

  #checkTime({ claims }: JsonWebToken): number {
    const now = this.#options.clock.now();
    const { exp, nbf } = claims;
    if (typeof exp !== "number") throw refusal("it does not say when it ends");
    if (now >= exp * 1000) throw refusal("it has expired");
    if (nbf !== undefined && !(Number(nbf) * 1000 <= now + notBeforeSkewMs)) {
      throw refusal("it is not valid yet");
    }
    return exp * 1000;
  }

  #remember(id: string, entry: CachedToken): void {
    this.#remembered.delete(id);
    this.#remembered.set(id, entry);
    if (this.#remembered.size <= this.#cacheEntriesMax) return;
    const [oldest] = this.#remembered.keys();
    if (oldest !== undefined) this.#remembered.delete(oldest);
  }
}

function refusal(reason: string): AuthenticationError {
  return new AuthenticationError("invalid-token", `token refused: ${reason}`);
}
