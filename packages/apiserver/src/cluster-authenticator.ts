/** Who asks, for a request in a logical cluster: known to all of them, or to this one. The latter is asked only when the former do not know. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type ClusterTokens,
  type Credentials,
  isAuthenticationError,
  parseBearerToken,
  type RequestAuthenticator,
  type TokenIdentity,
} from "./authentication/index.ts";
import type { MaybePromise } from "./request/api-request.ts";
import type { ClusterScope } from "./request/request-scope.ts";
import type { UserInfo } from "./request/user.ts";

export class ClusterAuthenticator {
  readonly #everywhere: RequestAuthenticator;
  readonly #workspaces: ClusterTokens;

  constructor(everywhere: RequestAuthenticator, workspaces: ClusterTokens) {
    this.#everywhere = everywhere;
    this.#workspaces = workspaces;
  }

  /** Throws `AuthenticationError` when the request must be answered with 401. */
  authenticate(credentials: Credentials, cluster: ClusterScope): MaybePromise<UserInfo> {
    try {
      const user = this.#everywhere.authenticate(credentials);
      if (!(user instanceof Promise)) return user;
      return user.catch((error: unknown) => this.#askWorkspace(error, credentials, cluster));
    } catch (error) {
      return this.#askWorkspace(error, credentials, cluster);
    }
  }

  async reviewTokenIn(
    token: string,
    audiences: readonly string[],
    cluster: ClusterName,
  ): Promise<TokenIdentity> {
    try {
      return await this.#everywhere.reviewToken(token, audiences);
    } catch (error) {
      if (!isAuthenticationError(error)) throw error;
      const found = await this.#workspaces.reviewToken(token, audiences, cluster);
      if (found === undefined) throw error;
      return found;
    }
  }

  #askWorkspace(
    error: unknown,
    { authorization }: Credentials,
    cluster: ClusterScope,
  ): Promise<UserInfo> {
    if (!isAuthenticationError(error)) throw error;
    const token = authorization === undefined ? undefined : parseBearerToken(authorization);
    if (token === undefined || cluster === "*") throw error;
    return this.#workspaces.authenticate(token, cluster).then((user) => {
      if (user === undefined) throw error;
      return user;
    });
  }
}
