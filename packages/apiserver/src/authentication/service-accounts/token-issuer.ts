/** Issues the tokens of service accounts. The caller has authorized the request. */
import { randomUUID } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import { signJsonWebToken } from "../jwt/json-web-token.ts";
import type { SigningKey } from "../jwt/keys.ts";
import {
  type AccountReference,
  boundClaims,
  type ObjectReference,
  secretClaims,
} from "./token-claims.ts";

export interface TokenIssuerOptions {
  readonly issuer: string;
  /** The default audiences of tokens: this server. */
  readonly audiences: readonly string[];
  /** Called for every token. */
  readonly key: () => SigningKey;
  readonly clock: Pick<Clock, "now">;
}

export interface TokenParameters {
  readonly account: AccountReference;
  /** The token is valid no longer than this Secret. */
  readonly secret?: ObjectReference | undefined;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
}

export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export class ServiceAccountTokenIssuer {
  readonly audiences: readonly string[];
  readonly #options: TokenIssuerOptions;

  constructor(options: TokenIssuerOptions) {
    this.audiences = options.audiences;
    this.#options = options;
  }

  issue({ account, secret, audiences, expirationSeconds }: TokenParameters): IssuedToken {
    const { issuer, key, clock } = this.#options;
    const issuedAt = Math.floor(clock.now() / 1000);
    const expiresAt = issuedAt + expirationSeconds;
    const claims = boundClaims(
      {
        kind: "bound",
        account,
        secret,
        audiences,
        id: randomUUID(),
        notBefore: issuedAt,
        expiresAt,
      },
      issuer,
      issuedAt,
    );
    return { token: signJsonWebToken(claims, key()), expiresAt: expiresAt * 1000 };
  }

  /**
   * For a Secret of type kubernetes.io/service-account-token: valid as long as the Secret contains
   * it.
   */
  issueForSecret(account: AccountReference, secretName: string): string {
    return signJsonWebToken(
      secretClaims({ kind: "secret", account, secretName }),
      this.#options.key(),
    );
  }
}
