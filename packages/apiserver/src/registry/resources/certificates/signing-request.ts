/**
 * PKCS#10: validates that a PEM block is a certificate signing request, signed by its own key.
 *
 *     CertificationRequest ::= SEQUENCE { info, signatureAlgorithm SEQUENCE { OID, … }, signature BIT STRING }
 *     info                 ::= SEQUENCE { version INTEGER, subject, publicKeyInfo, attributes }
 *
 * Node parses certificates but not requests, so the outer two levels are parsed here, and nothing
 * below them.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { DerError, DerReader } from "./der-reader.ts";
import { nextPemBlock } from "./pem.ts";

/** Larger keys take too long to verify. */
const modulusBitsMax = 8192;

/** Keyed by the hexadecimal OID of the signature algorithm; Ed25519 hashes by itself. */
const algorithms: ReadonlyMap<string, { readonly name: string; readonly hash: string | null }> =
  new Map([
    ["2a864886f70d010105", { name: "RSA", hash: "sha1" }],
    ["2a864886f70d01010b", { name: "RSA", hash: "sha256" }],
    ["2a864886f70d01010c", { name: "RSA", hash: "sha384" }],
    ["2a864886f70d01010d", { name: "RSA", hash: "sha512" }],
    ["2a8648ce3d0401", { name: "ECDSA", hash: "sha1" }],
    ["2a8648ce3d040302", { name: "ECDSA", hash: "sha256" }],
    ["2a8648ce3d040303", { name: "ECDSA", hash: "sha384" }],
    ["2a8648ce3d040304", { name: "ECDSA", hash: "sha512" }],
    ["2b6570", { name: "Ed25519", hash: null }],
  ]);

/** The error in the request, or undefined. */
export function signingRequestError(pem: string): string | undefined {
  const block = nextPemBlock(pem, 0);
  if (block?.type !== "CERTIFICATE REQUEST") return "PEM block type must be CERTIFICATE REQUEST";
  try {
    return signatureError(Buffer.from(block.body, "base64"));
  } catch (error) {
    if (error instanceof DerError) return `asn1: ${error.message}`;
    throw error;
  }
}

/**
 * The organizations in the subject: the groups that a certificate would grant. Empty when the text
 * is not a request.
 */
export function organizationsOf(pem: string): string[] {
  const block = nextPemBlock(pem, 0);
  if (block?.type !== "CERTIFICATE REQUEST") return [];
  const found: string[] = [];
  try {
    const info = new DerReader(Buffer.from(block.body, "base64")).sequence().sequence();
    info.element(0x02);
    const subject = info.sequence();
    while (!subject.isAtEnd) {
      const set = new DerReader(subject.element(0x31).content);
      while (!set.isAtEnd) {
        const pair = set.sequence();
        const identifier = pair.element(0x06).content.toString("hex");
        if (identifier === organization) found.push(pair.any().content.toString("utf8"));
      }
    }
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
  }
  return found;
}

/** The encoded OID 2.5.4.10. */
const organization = "55040a";

function signatureError(der: Buffer): string | undefined {
  const request = new DerReader(der).sequence();
  const info = request.element(0x30);
  const oid = request.sequence().element(0x06).content.toString("hex");
  const bits = request.element(0x03).content;
  if (bits[0] !== 0) return "asn1: syntax error: invalid padding bits in BIT STRING";
  const parts = new DerReader(info.content);
  parts.element(0x02);
  parts.element(0x30);
  const key = publicKeyOf(parts.element(0x30).whole);
  if (key === undefined) return "x509: unsupported public key";
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) > modulusBitsMax)
    return "crypto/rsa: key is too large";
  const algorithm = algorithms.get(oid);
  if (algorithm === undefined) return "x509: cannot verify signature: algorithm unimplemented";
  if (keyTypes.get(algorithm.name) !== key.asymmetricKeyType)
    return `x509: signature algorithm specifies an ${algorithm.name} public key, but have public key of another type`;
  if (verify(algorithm.hash, info.whole, key, bits.subarray(1))) return undefined;
  return algorithm.name === "RSA"
    ? "crypto/rsa: verification error"
    : `x509: ${algorithm.name} verification failure`;
}

const keyTypes = new Map([
  ["RSA", "rsa"],
  ["ECDSA", "ec"],
  ["Ed25519", "ed25519"],
]);

function publicKeyOf(spki: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: spki, format: "der", type: "spki" });
  } catch (error) {
    // OpenSSL's message does not help the client: this type of key is unsupported.
    if (error instanceof Error) return undefined;
    throw error;
  }
}
