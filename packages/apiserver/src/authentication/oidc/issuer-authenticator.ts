/**
 * IssuerAuthenticator authenticates tokens of an external issuer (OpenID Connect ID tokens): signed
 * by one of its keys, for a configured audience, within their validity; the claims then determine
 * the user.
 *
 * The user of a token is cached until the token expires, or until the keys of the issuer change.
 */
import { hash } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import type { MaybePromise } from "../../request/api-request.ts";
import { credentialIdKey, type UserInfo } from "../../request/index.ts";
import type { TokenAuthenticator, TokenIdentity } from "../authenticator.ts";
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
  /**
   * The audiences of this server: the result of a TokenReview, since the audiences of the issuer
   * are names of clients.
   */
  readonly apiAudiences: readonly string[];
  readonly fetch: FetchDocument;
  readonly clock: Pick<Clock, "now">;
  readonly onError: (error: unknown, issuer: string) => void;
  readonly cacheEntriesMax?: number;
  /** The keys of the authenticator that this one replaces; fetched anew if omitted. */
  readonly keys?: IssuerKeys | undefined;
}

/** The number of cached tokens; beyond it, the least recently used is verified again. */
export const cachedTokensMax = 4096;

/** How far in the future the validity of a token may begin, because clocks differ. */
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
  /** By the token's SHA-256, the least recently used first; accepted tokens only. */
  readonly #cachedTokens = new Map<string, CachedToken>();
  /** The hashes of recently accepted tokens. */
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

  /**
   * The keys of this authenticator, if the issuer has the same addresses: for an authenticator that
   * replaces it with other rules.
   */
  keysOf({ url, discoveryUrl, certificateAuthority }: JwtIssuer): IssuerKeys | undefined {
    const { issuer } = this.#options;
    const isSame =
      issuer.url === url &&
      issuer.discoveryUrl === discoveryUrl &&
      issuer.certificateAuthority === certificateAuthority;
    return isSame ? this.#keys : undefined;
  }

  authenticateToken(token: string): MaybePromise<UserInfo | undefined> {
    // A signed token has three parts: other kinds of tokens need not be hashed.
    if (!token.includes(".")) return undefined;
    const recent = this.#recent.get(token);
    const id = recent ?? hash("sha256", token, "base64url");
    const known = this.#cachedTokens.get(id);
    if (known !== undefined) {
      const keys = this.#keys.current();
      if (keys instanceof Promise)
        return keys.then((found) => this.#fromCache(id, known, found) ?? this.#verify(id, token));
      const user = this.#fromCache(id, known, keys);
      if (user !== undefined && recent === undefined) this.#recent.set(token, id);
      if (user !== undefined) return user;
    }
    return this.#verify(id, token);
  }

  /** Undefined when the keys have changed. */
  #fromCache(
    id: string,
    known: CachedToken,
    keys: readonly VerificationKey[],
  ): UserInfo | undefined {
    if (known.keys !== keys) return undefined;
    if (this.#options.clock.now() >= known.expiresAt) throw refusal("it has expired");
    this.#cache(id, known);
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

  async reviewToken(
    token: string,
    audiences: readonly string[],
  ): Promise<TokenIdentity | undefined> {
    const own = audiences.filter((audience) => this.#options.apiAudiences.includes(audience));
    if (own.length === 0 && audiences.length > 0) return undefined;
    const user = await this.authenticateToken(token);
    return user && { user, audiences: own };
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
    this.#cache(id, { user, expiresAt, keys });
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

  #cache(id: string, entry: CachedToken): void {
    this.#cachedTokens.delete(id);
    this.#cachedTokens.set(id, entry);
    if (this.#cachedTokens.size <= this.#cacheEntriesMax) return;
    const [oldest] = this.#cachedTokens.keys();
    if (oldest !== undefined) this.#cachedTokens.delete(oldest);
  }
}

function refusal(reason: string): AuthenticationError {
  return new AuthenticationError("invalid-token", `token refused: ${reason}`);
}
