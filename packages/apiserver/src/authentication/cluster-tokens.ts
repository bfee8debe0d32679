/**
 * Tokens that are good in one logical cluster only: those of issuers that the type of its workspace names (WorkspaceAuthenticationConfiguration).
 *
 * Whoever makes a type may name any issuer, and its tokens may claim anything. So nothing that the system gives meaning to is believed, and what
 * is left holds in this logical cluster and is nobody in particular elsewhere.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { clusterNameKey, scopesKey, type UserInfo, wellKnownGroup } from "../request/user.ts";
import type { TokenAuthenticator, TokenIdentity } from "./authenticator.ts";
import { firstOf, tokenLengthMax } from "./bearer-token.ts";
import { AuthenticationConfigurationError, AuthenticationError } from "./errors.ts";
import { parseJsonWebToken } from "./jwt/json-web-token.ts";
import { parseAuthenticationConfiguration } from "./oidc/authentication-configuration.ts";
import { IssuerAuthenticator } from "./oidc/issuer-authenticator.ts";
import type { FetchDocument } from "./oidc/issuer-keys.ts";

/** One configuration: the same object as long as it says the same. */
export interface ClusterIssuers {
  readonly name: string;
  /** As in AuthenticationConfiguration. */
  readonly jwt: readonly JsonValue[];
}

export interface ClusterTokensOptions {
  /** Those of the type of a logical cluster. */
  readonly issuersIn: (cluster: ClusterName) => Promise<readonly ClusterIssuers[]>;
  /** This server's own: tokens must be meant for it, besides for whom their issuer's configuration says. */
  readonly apiAudiences: readonly string[];
  readonly fetch: FetchDocument;
  readonly clock: Clock;
  readonly onError: (error: unknown, issuer: string) => void;
}

/** Tokens that are remembered of one issuer. */
const rememberedMax = 256;
/** Configurations that a type may name. */
export const configurationsMax = 16;

export class ClusterTokens {
  readonly #options: ClusterTokensOptions;
  readonly #authenticators = new WeakMap<ClusterIssuers, readonly TokenAuthenticator[]>();

  constructor(options: ClusterTokensOptions) {
    this.#options = options;
  }

  /** Undefined when no issuer of the logical cluster knows the token; throws `AuthenticationError` when one does and it is not valid. */
  async authenticate(token: string, cluster: ClusterName): Promise<UserInfo | undefined> {
    if (token.length > tokenLengthMax) return undefined;
    const meant = audiencesOf(token);
    if (meant === undefined) return undefined;
    const configurations = await this.#options.issuersIn(cluster);
    const tokens = configurations
      .slice(0, configurationsMax)
      .flatMap((each) => this.#authenticatorsOf(each));
    if (tokens.length === 0) return undefined;
    const { apiAudiences } = this.#options;
    if (apiAudiences.length > 0 && !apiAudiences.some((one) => meant.includes(one)))
      throw new AuthenticationError("other-audience", "the token is not meant for this server");
    const user = await firstOf(tokens, (each) => each.authenticateToken(token));
    return user === undefined ? undefined : scopedToCluster(user, cluster);
  }

  async reviewToken(
    token: string,
    audiences: readonly string[],
    cluster: ClusterName,
  ): Promise<TokenIdentity | undefined> {
    const { apiAudiences } = this.#options;
    const asked = audiences.length === 0 ? apiAudiences : audiences;
    const shared = asked.filter((one) => apiAudiences.includes(one));
    if (shared.length === 0 && asked.length > 0) return undefined;
    const user = await this.authenticate(token, cluster);
    return user === undefined ? undefined : { user, audiences: shared };
  }

  /** A configuration that cannot be used lets nobody in, and keeps nobody out whom another one lets in. */
  #authenticatorsOf(configuration: ClusterIssuers): readonly TokenAuthenticator[] {
    const known = this.#authenticators.get(configuration);
    if (known !== undefined) return known;
    let made: readonly TokenAuthenticator[] = [];
    try {
      made = this.#make(configuration);
    } catch (error) {
      if (!(error instanceof AuthenticationConfigurationError)) throw error;
      this.#options.onError(error, configuration.name);
    }
    this.#authenticators.set(configuration, made);
    return made;
  }

  #make({ name, jwt }: ClusterIssuers): readonly TokenAuthenticator[] {
    const { apiAudiences, fetch, clock, onError } = this.#options;
    const { issuers } = parseAuthenticationConfiguration(
      {
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "AuthenticationConfiguration",
        jwt: jwt.map(completed),
      },
      name,
    );
    const cacheEntriesMax = rememberedMax;
    return issuers.map(
      (issuer) =>
        new IssuerAuthenticator({ issuer, apiAudiences, fetch, clock, onError, cacheEntriesMax }),
    );
  }
}

/** Whom a token says it is for; undefined when it is none of the kind. */
function audiencesOf(token: string): readonly unknown[] | undefined {
  const parsed = token.includes(".") ? parseJsonWebToken(token) : undefined;
  if (parsed === undefined) return undefined;
  const { aud } = parsed.claims;
  return Array.isArray(aud) ? aud : [aud];
}

/** In files a prefix must be given; here it may be left out. What says where users may go is left out in any case. */
function completed(jwt: JsonValue): JsonValue {
  if (!isJsonObject(jwt) || !isJsonObject(jwt["claimMappings"])) return jwt;
  const { username, groups, extra, ...rest } = jwt["claimMappings"] as Record<string, JsonValue>;
  const extras = Array.isArray(extra) ? (extra as readonly JsonValue[]) : [];
  const allowed = extras.filter((one) => !isJsonObject(one) || !isReserved(String(one["key"])));
  const claimMappings = {
    ...rest,
    ...(username === undefined ? {} : { username: withPrefix(username) }),
    ...(groups === undefined ? {} : { groups: withPrefix(groups) }),
    ...(allowed.length === 0 ? {} : { extra: allowed }),
  };
  return { ...jwt, claimMappings } as JsonObject;
}

function withPrefix(source: JsonValue): JsonValue {
  if (!isJsonObject(source) || source["claim"] === undefined) return source;
  return source["prefix"] === undefined ? { ...source, prefix: "" } : source;
}

function isReserved(key: string): boolean {
  return key.includes("kcp.io");
}

function scopedToCluster(user: UserInfo, cluster: ClusterName): UserInfo {
  const { username, groups, extra = {} } = user;
  if (username.startsWith("system:"))
    throw new AuthenticationError("invalid-token", "system usernames are not admitted");
  const kept = Object.entries(extra).filter(([key]) => !isReserved(key));
  return {
    ...user,
    groups: [
      ...groups.filter((group) => !group.startsWith("system:")),
      wellKnownGroup.authenticated,
    ],
    extra: {
      ...Object.fromEntries(kept),
      [scopesKey]: [`cluster:${cluster}`],
      [clusterNameKey]: [cluster],
    },
  };
}
