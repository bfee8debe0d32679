/**
 * The signature algorithms of signed tokens (RFC 7518): those with public keys, and no other.
 *
 * `none` and the HMAC family are not in the table, so no key can ever be used as a shared secret.
 * Each algorithm names the type of its keys, and a key of another type is not tried.
 */
import { constants, type KeyObject, sign, verify } from "node:crypto";

interface Algorithm {
  readonly hash: "sha256" | "sha384" | "sha512";
  readonly keyType: "rsa" | "ec";
  /** The curve of `ec` keys. */
  readonly curve?: string;
  readonly isPss?: boolean;
}

const algorithms: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  ["RS256", { hash: "sha256", keyType: "rsa" }],
  ["RS384", { hash: "sha384", keyType: "rsa" }],
  ["RS512", { hash: "sha512", keyType: "rsa" }],
  ["PS256", { hash: "sha256", keyType: "rsa", isPss: true }],
  ["PS384", { hash: "sha384", keyType: "rsa", isPss: true }],
  ["PS512", { hash: "sha512", keyType: "rsa", isPss: true }],
  ["ES256", { hash: "sha256", keyType: "ec", curve: "prime256v1" }],
  ["ES384", { hash: "sha384", keyType: "ec", curve: "secp384r1" }],
  ["ES512", { hash: "sha512", keyType: "ec", curve: "secp521r1" }],
]);

export const signatureAlgorithms: readonly string[] = [...algorithms.keys()];

/** Shorter keys can be broken, longer ones take long to verify. */
export const rsaBitsMin = 2048;
export const rsaBitsMax = 8192;

/** Whether a key of this type can create signatures of this algorithm. */
export function isAlgorithmForKey(algorithm: string, key: KeyObject): boolean {
  const known = algorithms.get(algorithm);
  if (known === undefined || key.asymmetricKeyType !== known.keyType) return false;
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  return known.keyType === "ec"
    ? namedCurve === known.curve
    : modulusLength >= rsaBitsMin && modulusLength <= rsaBitsMax;
}

/**
 * The algorithm with which this server signs tokens, given the key; undefined when the key is
 * unsuitable.
 */
export function algorithmOf(key: KeyObject): string | undefined {
  return ["RS256", "ES256", "ES384", "ES512"].find((algorithm) =>
    isAlgorithmForKey(algorithm, key),
  );
}

export function verifies(
  algorithm: string,
  key: KeyObject,
  signed: string,
  signature: Uint8Array,
): boolean {
  const known = algorithms.get(algorithm);
  if (known === undefined || !isAlgorithmForKey(algorithm, key)) return false;
  return verify(known.hash, Buffer.from(signed), { key, ...shapeOf(known) }, signature);
}

export function signWith(algorithm: string, key: KeyObject, text: string): Buffer {
  const known = algorithms.get(algorithm);
  if (known === undefined || !isAlgorithmForKey(algorithm, key)) {
    throw new TypeError(`a key of this kind cannot sign with ${algorithm}`);
  }
  return sign(known.hash, Buffer.from(text), { key, ...shapeOf(known) });
}

function shapeOf({ keyType, isPss }: Algorithm) {
  if (keyType === "ec") return { dsaEncoding: "ieee-p1363" } as const;
  return isPss === true
    ? ({
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      } as const)
    : ({ padding: constants.RSA_PKCS1_PADDING } as const);
}
