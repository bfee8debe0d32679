/**
 * Authenticates tokens of service accounts: signed by a key of this server, for a requested
 * audience, and of an account that still exists.
 *
 * A verified signature is cached; the existence of the account is checked for every request, so
 * that tokens of a deleted account are rejected at once. Only when the check needs a round trip to
 * the store is its result cached for a moment.
 */
import { hash } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import { quote } from "@kcp-ts/machinery/status";
import type { MaybePromise } from "../../request/api-request.ts";
import {
  clusterNameKey,
  credentialIdKey,
  scopesKey,
  type UserInfo,
  wellKnownGroup,
} from "../../request/index.ts";
import type { TokenAuthenticator, TokenIdentity } from "../authenticator.ts";
import { BoundedCache } from "../bearer-token.ts";
import { AuthenticationError } from "../errors.ts";
import { isSignedBy, parseJsonWebToken } from "../jwt/json-web-token.ts";
import type { VerificationKey } from "../jwt/keys.ts";
import type {
  AccountObject,
  AccountObjectGetter,
  ServiceAccountTokenGetter,
} from "./service-account-token-getter.ts";
import {
  type BoundClaims,
  legacyIssuer,
  readBoundClaims,
  readSecretClaims,
  type SecretClaims,
  usernameOf,
} from "./token-claims.ts";

/** The number of cached verified tokens; beyond it, the least recently used is verified again. */
export const verifiedTokenCacheMax = 4096;

/** How long the existence of an account is cached when the store had to be read. */
export const accountCacheMs = 2000;

/** How far in the future the validity of a token may begin, because clocks differ. */
export const clockSkewMs = 60_000;

/**
 * Objects that are being deleted stay valid for this long, so that workloads with their tokens can
 * shut down; as in Kubernetes.
 */
export const deletionGraceMs = 60_000;

export interface ServiceAccountAuthenticatorOptions {
  /** New tokens name the first issuer; tokens of the others are still accepted. */
  readonly issuers: readonly string[];
  /** The audiences of this server. */
  readonly audiences: readonly string[];
  /**
   * Called for every request: another list is another set of keys, and invalidates all cached
   * signatures.
   */
  readonly keys: () => readonly VerificationKey[];
  readonly objects: ServiceAccountTokenGetter;
  readonly clock: Pick<Clock, "now">;
  readonly cacheEntriesMax?: number;
}

interface Verified {
  readonly keys: readonly VerificationKey[];
  readonly claims: BoundClaims | SecretClaims;
  readonly user: UserInfo;
  readonly account: AccountObjectGetter;
  /** The Secret of the token, or to which it is bound. */
  readonly secret: AccountObjectGetter | undefined;
  readonly isMeantForUs: boolean;
  /** The time until which the account is trusted to exist without a check. */
  trustedUntil: number;
}

export class ServiceAccountAuthenticator implements TokenAuthenticator {
  readonly #options: ServiceAccountAuthenticatorOptions;
  readonly #cacheEntriesMax: number;
  /**
   * By the token's SHA-256, the least recently used first. Rejections are not cached:
   * unauthenticated clients would fill the cache with them.
   */
  readonly #verified = new Map<string, Verified>();
  /** The same results for recent tokens, by the tokens themselves. */
  readonly #recent = new BoundedCache<Verified>();

  constructor(options: ServiceAccountAuthenticatorOptions) {
    this.#options = options;
    this.#cacheEntriesMax = options.cacheEntriesMax ?? verifiedTokenCacheMax;
  }

  authenticateToken(token: string): MaybePromise<UserInfo | undefined> {
    const now = this.#options.clock.now();
    const verified = this.#verify(token, now);
    if (verified === undefined) return undefined;
    if (!verified.isMeantForUs) throw this.#audienceError(verified.claims, this.#options.audiences);
    const alive = this.#checkNotDeleted(verified, token, now);
    return alive === undefined ? verified.user : alive.then(() => verified.user);
  }

  async reviewToken(
    token: string,
    audiences: readonly string[],
  ): Promise<TokenIdentity | undefined> {
    const now = this.#options.clock.now();
    const verified = this.#verify(token, now);
    if (verified === undefined) return undefined;
    const found = this.#matchingAudiences(verified.claims, audiences);
    if (found.length === 0) throw this.#audienceError(verified.claims, audiences);
    await this.#checkNotDeleted(verified, token, now);
    return { user: verified.user, audiences: found };
  }

  /** Undefined when the token is not of this server. */
  #verify(token: string, now: number): Verified | undefined {
    // All tokens of this server begin with `{"` in base64; other tokens need not be hashed.
    if (!token.startsWith("eyJ")) return undefined;
    const keys = this.#options.keys();
    const recent = this.#recent.get(token);
    if (recent?.keys === keys) {
      this.#checkTime(recent.claims, now);
      return recent;
    }
    const key = hash("sha256", token, "base64url");
    let verified = this.#verified.get(key);
    if (verified === undefined || verified.keys !== keys) {
      verified = this.#read(token, keys);
      if (verified === undefined) return undefined;
    }
    this.#checkTime(verified.claims, now);
    this.#verified.delete(key);
    this.#verified.set(key, verified);
    if (this.#verified.size > this.#cacheEntriesMax) {
      const [oldest] = this.#verified.keys();
      if (oldest !== undefined) this.#verified.delete(oldest);
    }
    if (this.#cacheEntriesMax > 0) this.#recent.set(token, verified);
    return verified;
  }

  #read(text: string, keys: readonly VerificationKey[]): Verified | undefined {
    const token = parseJsonWebToken(text);
    const issuer = token?.claims["iss"];
    const isLegacy = issuer === legacyIssuer;
    if (token === undefined || typeof issuer !== "string") return undefined;
    if (!isLegacy && !this.#options.issuers.includes(issuer)) return undefined;
    if (!isSignedBy(token, keys)) throw refusal("its signature is not right");
    const claims = isLegacy ? readSecretClaims(token.claims) : readBoundClaims(token.claims);
    if (claims === undefined) throw refusal("its claims are not those of a service account");
    const { objects, audiences } = this.#options;
    const { account } = claims;
    const secret = claims.kind === "secret" ? claims.secretName : claims.secret?.name;
    return {
      ...{ keys, claims, user: userOf(claims), trustedUntil: 0 },
      account: objects.getter("serviceaccounts", account),
      secret:
        secret === undefined ? undefined : objects.getter("secrets", { ...account, name: secret }),
      isMeantForUs: this.#matchingAudiences(claims, audiences).length > 0,
    };
  }

  #checkTime(claims: BoundClaims | SecretClaims, now: number): void {
    if (claims.kind === "secret") return;
    if (now >= claims.expiresAt * 1000) throw refusal("it has expired");
    if (now + clockSkewMs < claims.notBefore * 1000) throw refusal("it is not valid yet");
  }

  #matchingAudiences(
    claims: BoundClaims | SecretClaims,
    asked: readonly string[],
  ): readonly string[] {
    const meant = this.#audiencesOf(claims);
    return asked.filter((audience) => meant.includes(audience));
  }

  #audiencesOf(claims: BoundClaims | SecretClaims): readonly string[] {
    return claims.kind === "bound" ? claims.audiences : this.#options.audiences;
  }

  #audienceError(
    claims: BoundClaims | SecretClaims,
    asked: readonly string[],
  ): AuthenticationError {
    const [meant, target] = [this.#audiencesOf(claims), asked].map(
      (audiences) => `[${audiences.map(quote).join(" ")}]`,
    );
    return new AuthenticationError(
      "other-audience",
      `token audiences ${meant} is invalid for the target audiences ${target}`,
    );
  }

  /** Throws or rejects unless the account, and the Secret that the token is bound to, exist. */
  #checkNotDeleted(verified: Verified, token: string, now: number): Promise<void> | undefined {
    if (verified.trustedUntil > now) return undefined;
    const pending = this.#checkAccount(verified, token);
    return pending?.then(() => {
      verified.trustedUntil = this.#options.clock.now() + accountCacheMs;
    });
  }

  #checkAccount(verified: Verified, token: string): Promise<void> | undefined {
    const { uid } = verified.claims.account;
    const found = verified.account();
    if (found instanceof Promise) {
      return found.then((resolved) => {
        this.#checkObject(resolved, uid);
        return this.#checkSecret(verified, token);
      });
    }
    this.#checkObject(found, uid);
    return this.#checkSecret(verified, token);
  }

  #checkSecret({ claims, secret }: Verified, token: string): Promise<void> | undefined {
    if (secret === undefined) return undefined;
    const check = (found: AccountObject | undefined) => {
      const uid = claims.kind === "bound" ? claims.secret?.uid : undefined;
      this.#checkObject(found, uid);
      if (claims.kind === "secret" && found?.token !== token) {
        throw refusal("its secret holds another token");
      }
    };
    const found = secret();
    if (found instanceof Promise) return found.then(check);
    check(found);
    return undefined;
  }

  #checkObject(found: AccountObject | undefined, uid: string | undefined): void {
    if (found === undefined || (uid !== undefined && found.uid !== uid)) {
      throw refusal("its service account, or what it is bound to, does not exist any more");
    }
    if (
      found.deletedAt !== undefined &&
      found.deletedAt + deletionGraceMs < this.#options.clock.now()
    ) {
      throw refusal("its service account, or what it is bound to, is being deleted");
    }
  }
}

function userOf(claims: BoundClaims | SecretClaims): UserInfo {
  const { account } = claims;
  const id = claims.kind === "bound" ? claims.id : undefined;
  return {
    username: usernameOf(account),
    uid: account.uid,
    groups: [
      "system:serviceaccounts",
      `system:serviceaccounts:${account.namespace}`,
      wellKnownGroup.authenticated,
    ],
    extra: {
      ...(id === undefined ? {} : { [credentialIdKey]: [`JTI=${id}`] }),
      [clusterNameKey]: [account.cluster],
      [scopesKey]: [`cluster:${account.cluster}`],
    },
  };
}

function refusal(reason: string): AuthenticationError {
  return new AuthenticationError("invalid-token", `service account token refused: ${reason}`);
}
