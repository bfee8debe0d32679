/** Makes the tokens of service accounts. Whether somebody may have one was decided before. */
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
  /** Whom tokens are meant for when the asker does not say: this server. */
  readonly audiences: readonly string[];
  /** Asked for every token. */
  readonly key: () => SigningKey;
  readonly clock: Pick<Clock, "now">;
}

export interface TokenParameters {
  readonly account: AccountReference;
  /** The token holds no longer than this Secret. */
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

  /** For a Secret of type kubernetes.io/service-account-token: holds as long as it stands there. */
  issueForSecret(account: AccountReference, secretName: string): string {
    return signJsonWebToken(
      secretClaims({ kind: "secret", account, secretName }),
      this.#options.key(),
    );
  }
}
