/** The keys of signed tokens: parsed from PEM files, and from and to JSON Web Keys (RFC 7517). */
import {
  createPrivateKey,
  createPublicKey,
  hash,
  type JsonWebKey,
  type KeyObject,
} from "node:crypto";
import { AuthenticationConfigurationError } from "../errors.ts";
import { algorithmOf, isAlgorithmForKey, signatureAlgorithms } from "./algorithms.ts";

export interface VerificationKey {
  /** Undefined: tokens with any key id are tried with the key. */
  readonly keyId: string | undefined;
  readonly publicKey: KeyObject;
  /** The only algorithm of the key; undefined: all algorithms of its type. */
  readonly algorithm: string | undefined;
}

export interface SigningKey {
  readonly keyId: string;
  readonly privateKey: KeyObject;
  readonly algorithm: string;
}

/**
 * The number of keys of one source: an untrusted token is tried with each key that it could mean.
 */
export const verificationKeysMax = 32;

const pemBlock = /-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g;

/** All keys of a file; private keys yield their public keys. `source` is for messages. */
export function parseVerificationKeys(pem: string, source: string): VerificationKey[] {
  const blocks = [...pem.matchAll(pemBlock)]
    // Files of `openssl ecparam -genkey` begin with this block.
    .filter(([, label]) => label !== "EC PARAMETERS")
    .map(([block]) => block);
  if (blocks.length === 0) {
    throw new AuthenticationConfigurationError(`${source}: holds no key in PEM`);
  }
  return blocks.map((block, at) => verificationKey(publicKeyOf(block, source, at), source));
}

export function parseSigningKey(pem: string, source: string): SigningKey {
  try {
    return signingKey(createPrivateKey(pem), source);
  } catch (cause) {
    if (cause instanceof AuthenticationConfigurationError) throw cause;
    throw new AuthenticationConfigurationError(
      `${source}: is not a private key in PEM without a passphrase`,
      { cause },
    );
  }
}

export function signingKey(privateKey: KeyObject, source: string): SigningKey {
  const algorithm = algorithmOf(privateKey) ?? unfit(source);
  return { keyId: keyIdOf(createPublicKey(privateKey)), privateKey, algorithm };
}

export function verificationKeyOf({ privateKey, ...key }: SigningKey): VerificationKey {
  return { ...key, publicKey: createPublicKey(privateKey) };
}

/** The key as a member of a public key set. */
export function toJsonWebKey({ keyId, publicKey, algorithm }: VerificationKey): object {
  const { kty, ...members } = publicKey.export({ format: "jwk" });
  return { use: "sig", kty, kid: keyId, alg: algorithm, ...members };
}

/**
 * The keys of a set that can verify signatures; keys for encryption or of unknown types are
 * omitted.
 */
export function parseKeySet(value: unknown): VerificationKey[] {
  const { keys } = (value ?? {}) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new TypeError("a key set has a list of keys");
  return keys.slice(0, verificationKeysMax).flatMap((key: unknown) => {
    const parsed = parseJsonWebKey(key);
    return parsed === undefined ? [] : [parsed];
  });
}

function parseJsonWebKey(value: unknown): VerificationKey | undefined {
  const { kty, use, kid, alg } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if ((kty !== "RSA" && kty !== "EC") || (use !== undefined && use !== "sig")) return undefined;
  try {
    const publicKey = createPublicKey({ key: value as JsonWebKey, format: "jwk" });
    const algorithm = typeof alg === "string" ? alg : undefined;
    const candidates = algorithm === undefined ? signatureAlgorithms : [algorithm];
    if (!candidates.some((candidate) => isAlgorithmForKey(candidate, publicKey))) return undefined;
    return { keyId: typeof kid === "string" ? kid : undefined, publicKey, algorithm };
  } catch (error) {
    if (error instanceof TypeError || (error as { code?: unknown }).code !== undefined) {
      return undefined;
    }
    throw error;
  }
}

function publicKeyOf(pem: string, source: string, at: number): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (cause) {
    throw new AuthenticationConfigurationError(`${source}: PEM block ${at + 1} is no key`, {
      cause,
    });
  }
}

function verificationKey(publicKey: KeyObject, source: string): VerificationKey {
  const algorithm = algorithmOf(publicKey) ?? unfit(source);
  return { keyId: keyIdOf(publicKey), publicKey, algorithm };
}

/** The key id as in Kubernetes: the SHA-256 of the public key's DER. */
function keyIdOf(publicKey: KeyObject): string {
  return hash("sha256", publicKey.export({ format: "der", type: "spki" }), "base64url");
}

function unfit(source: string): never {
  throw new AuthenticationConfigurationError(
    `${source}: the key must be RSA of 2048 to 8192 bits, or ECDSA on P-256, P-384 or P-521`,
  );
}
