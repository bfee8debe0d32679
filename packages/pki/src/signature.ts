/**
 * Signatures over DER bytes: the algorithm of each type of key, and its encoded identifier.
 *
 * SHA-1 and MD5 are not in the table, so they can be neither created nor accepted.
 */
import { type KeyObject, sign, verify } from "node:crypto";
import { type DerElement, DerError, readChildren, readObjectIdentifier } from "./der-reader.ts";
import { der, derTag } from "./der-writer.ts";
import { objectIdentifier } from "./object-identifiers.ts";

/**
 * `SEQUENCE { signed, algorithm, signature }`: the outer shape of certificates and of signing
 * requests.
 */
export function signedSequence(
  toSign: (algorithmIdentifier: Buffer) => Buffer,
  privateKey: KeyObject,
): Buffer {
  const { identifier, hash, keyType } = algorithmFor(privateKey);
  const algorithmIdentifier = encodeAlgorithm(identifier, keyType);
  const signed = toSign(algorithmIdentifier);
  return der.sequence(signed, algorithmIdentifier, der.bitString(sign(hash, signed, privateKey)));
}

/**
 * Whether `signature` over `signed` was made with the private half of `publicKey`. Throws
 * `DerError` for unknown algorithms.
 */
export function verifySignature(parts: {
  readonly algorithm: DerElement | undefined;
  readonly signed: Buffer;
  readonly signature: Buffer;
  readonly publicKey: KeyObject;
}): boolean {
  const identifier = readObjectIdentifier(readChildren(parts.algorithm, derTag.sequence)[0]);
  const algorithm = algorithms.find((candidate) => candidate.identifier === identifier);
  if (algorithm === undefined) {
    throw new DerError(`the signature algorithm ${identifier} is not supported`);
  }
  if (algorithm.keyType !== parts.publicKey.asymmetricKeyType) return false;
  return verify(algorithm.hash, parts.signed, parts.publicKey, parts.signature);
}

interface Algorithm {
  readonly identifier: string;
  readonly keyType: "ec" | "rsa" | "ed25519";
  /** Null where the algorithm includes its own hash. */
  readonly hash: "sha256" | "sha384" | "sha512" | null;
}

const algorithms: readonly Algorithm[] = [
  { identifier: objectIdentifier.ecdsaWithSha256, keyType: "ec", hash: "sha256" },
  { identifier: objectIdentifier.ecdsaWithSha384, keyType: "ec", hash: "sha384" },
  { identifier: objectIdentifier.ecdsaWithSha512, keyType: "ec", hash: "sha512" },
  { identifier: objectIdentifier.rsaWithSha256, keyType: "rsa", hash: "sha256" },
  { identifier: objectIdentifier.rsaWithSha384, keyType: "rsa", hash: "sha384" },
  { identifier: objectIdentifier.rsaWithSha512, keyType: "rsa", hash: "sha512" },
  { identifier: objectIdentifier.ed25519, keyType: "ed25519", hash: null },
];

/** The signing algorithm: the first one of the key's type. */
function algorithmFor(privateKey: KeyObject): Algorithm {
  const type = privateKey.asymmetricKeyType;
  const algorithm = algorithms.find(({ keyType }) => keyType === type);
  if (algorithm === undefined) throw new RangeError(`cannot sign with a key of type ${type}`);
  return algorithm;
}

/** RSA encodes its absent parameters as NULL, the others omit them. */
function encodeAlgorithm(identifier: string, keyType: Algorithm["keyType"]): Buffer {
  const oid = der.objectIdentifier(identifier);
  return keyType === "rsa" ? der.sequence(oid, der.null()) : der.sequence(oid);
}
