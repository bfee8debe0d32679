/**
 * ClusterAuthenticator authenticates a request in a logical cluster: by the authenticators of all
 * clusters first, and by those of this cluster only when the former do not know the credentials.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type ClusterTokens,
  type Credentials,
  isAuthenticationError,
  parseBearerToken,
  type RequestAuthenticator,
  type TokenIdentity,
} from "../authentication/index.ts";
import type { MaybePromise } from "../request/api-request.ts";
import type { ClusterScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";

export class ClusterAuthenticator {
  readonly #globalAuthenticator: RequestAuthenticator;
  readonly #workspaceAuthenticator: ClusterTokens;

  constructor(everywhere: RequestAuthenticator, workspaces: ClusterTokens) {
    this.#globalAuthenticator = everywhere;
    this.#workspaceAuthenticator = workspaces;
  }

  /** Throws `AuthenticationError` when the response must be 401. */
  authenticate(credentials: Credentials, cluster: ClusterScope): MaybePromise<UserInfo> {
    try {
      const user = this.#globalAuthenticator.authenticate(credentials);
      if (!(user instanceof Promise)) return user;
      return user.catch((error: unknown) =>
        this.#authenticateInWorkspace(error, credentials, cluster),
      );
    } catch (error) {
      return this.#authenticateInWorkspace(error, credentials, cluster);
    }
  }

  async reviewTokenIn(
    token: string,
    audiences: readonly string[],
    cluster: ClusterName,
  ): Promise<TokenIdentity> {
    try {
      return await this.#globalAuthenticator.reviewToken(token, audiences);
    } catch (error) {
      if (!isAuthenticationError(error)) throw error;
      const found = await this.#workspaceAuthenticator.reviewToken(token, audiences, cluster);
      if (found === undefined) throw error;
      return found;
    }
  }

  #authenticateInWorkspace(
    error: unknown,
    { authorization }: Credentials,
    cluster: ClusterScope,
  ): Promise<UserInfo> {
    if (!isAuthenticationError(error)) throw error;
    const token = authorization === undefined ? undefined : parseBearerToken(authorization);
    if (token === undefined || cluster === "*") throw error;
    return this.#workspaceAuthenticator.authenticate(token, cluster).then((user) => {
      if (user === undefined) throw error;
      return user;
    });
  }
}
