/**
 * The documents with which relying parties verify tokens of service accounts themselves: OpenID
 * Connect discovery, and the public keys.
 */
import { toJsonWebKey, type VerificationKey } from "../jwt/keys.ts";

export interface IssuerDocumentsOptions {
  readonly issuer: string;
  /** The address at which relying parties find the keys. */
  readonly keySetUrl: () => string;
  readonly keys: () => readonly VerificationKey[];
}

export class IssuerDocuments {
  readonly #options: IssuerDocumentsOptions;

  constructor(options: IssuerDocumentsOptions) {
    this.#options = options;
  }

  configuration(): object {
    const { issuer, keySetUrl, keys } = this.#options;
    const algorithms = new Set(keys().flatMap(({ algorithm }) => algorithm ?? []));
    return {
      issuer,
      jwks_uri: keySetUrl(),
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [...algorithms].sort(),
    };
  }

  keySet(): object {
    const unique = new Map(this.#options.keys().map((key) => [key.keyId, key]));
    return { keys: [...unique.values()].map(toJsonWebKey) };
  }
}
