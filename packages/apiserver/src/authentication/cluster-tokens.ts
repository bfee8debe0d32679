/**
 * ClusterTokens: tokens that are valid in one logical cluster only: those of issuers that the type
 * of its workspace names (WorkspaceAuthenticationConfiguration).
 *
 * The author of a type may name any issuer, and its tokens may contain any claim. Therefore names
 * that are reserved for the system are rejected, and the user is only valid in this logical
 * cluster, and is no known user in other clusters.
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

/** One configuration: the identical object as long as its content is the same. */
export interface ClusterIssuers {
  readonly name: string;
  /** The issuers, as in AuthenticationConfiguration. */
  readonly jwt: readonly JsonValue[];
}

export interface ClusterTokensOptions {
  /** The issuers of the workspace type of a logical cluster. */
  readonly issuersIn: (cluster: ClusterName) => Promise<readonly ClusterIssuers[]>;
  /**
   * The audiences of this server: a token must have one of them, besides an audience of its
   * issuer's configuration.
   */
  readonly apiAudiences: readonly string[];
  readonly fetch: FetchDocument;
  readonly clock: Clock;
  readonly onError: (error: unknown, issuer: string) => void;
}

/** The number of cached tokens of one issuer. */
const rememberedMax = 256;
/** The number of configurations that a type may name. */
export const configurationsMax = 16;

export class ClusterTokens {
  readonly #options: ClusterTokensOptions;
  readonly #authenticators = new WeakMap<ClusterIssuers, readonly TokenAuthenticator[]>();

  constructor(options: ClusterTokensOptions) {
    this.#options = options;
  }

  /**
   * Undefined when no issuer of the logical cluster knows the token; throws `AuthenticationError`
   * when one does and the token is not valid.
   */
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

  /**
   * An invalid configuration authenticates no user, and does not affect the other configurations.
   */
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

/** The audiences of a token; undefined when it is not a JSON Web Token. */
function audiencesOf(token: string): readonly unknown[] | undefined {
  const parsed = token.includes(".") ? parseJsonWebToken(token) : undefined;
  if (parsed === undefined) return undefined;
  const { aud } = parsed.claims;
  return Array.isArray(aud) ? aud : [aud];
}

/**
 * Adds the prefix, which files must set and these configurations may omit. Mappings of extras that
 * restrict users to clusters are always removed.
 */
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
