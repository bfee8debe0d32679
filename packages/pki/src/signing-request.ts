/**
 * Certificate signing requests (PKCS#10, RFC 2986): parse, verify, sign.
 *
 * A request is untrusted and proves only that its sender holds the key in it. The approver decides
 * whether the sender may have the name in it; requested extensions are not copied into the
 * certificate.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import type { Purpose } from "./certificate.ts";
import {
  type CertificateAuthority,
  type IssuedCertificate,
  issueCertificate,
} from "./certificate-authority.ts";
import { DerError, expectTag, readBitString, readChildren, readOnly } from "./der-reader.ts";
import { derTag } from "./der-writer.ts";
import { verifySignature } from "./signature.ts";
import { decodeSubject, type ParsedSubject } from "./subject.ts";

/** PEM included. A request for a 4096-bit RSA key is under 2 KiB. */
export const signingRequestBytesMax = 16 * 1024;

/** Signatures with larger moduli are slow to verify. */
export const rsaBitsMax = 8192;
export const rsaBitsMin = 2048;

export interface SigningRequest {
  readonly subject: ParsedSubject;
  readonly publicKey: KeyObject;
}

export class SigningRequestError extends Error {
  override readonly name = "SigningRequestError";
}

/** Throws `SigningRequestError` unless the text is one request, signed by its own key. */
export function parseCertificateSigningRequest(pem: string): SigningRequest {
  try {
    return parse(pem);
  } catch (cause) {
    if (cause instanceof SigningRequestError) throw cause;
    const detail = cause instanceof DerError ? cause.message : "it cannot be read";
    throw new SigningRequestError(`malformed certificate signing request: ${detail}`, { cause });
  }
}

/** Signs the request: the subject's common name and organizations, for the given purposes. */
export function signCertificateSigningRequest(options: {
  readonly authority: CertificateAuthority;
  readonly request: SigningRequest;
  readonly purposes: readonly Purpose[];
  readonly now: number;
  readonly validityMs?: number;
}): IssuedCertificate {
  const { request, ...rest } = options;
  return issueCertificate({ ...rest, subject: request.subject, key: request.publicKey });
}

const pemPattern =
  /^\s*-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END (?:NEW )?CERTIFICATE REQUEST-----\s*$/;

function parse(pem: string): SigningRequest {
  if (pem.length > signingRequestBytesMax) {
    throw new SigningRequestError(
      `certificate signing request is larger than ${signingRequestBytesMax} bytes`,
    );
  }
  const base64 = pemPattern.exec(pem)?.[1];
  if (base64 === undefined) {
    throw new SigningRequestError("PEM block type must be CERTIFICATE REQUEST");
  }
  const bytes = Buffer.from(base64, "base64");
  const [info, algorithm, signature] = readChildren(
    readOnly(bytes, derTag.sequence),
    derTag.sequence,
  );
  const [version, subject, keyInfo] = readChildren(info, derTag.sequence);
  if (!expectTag(version, derTag.integer).content.equals(Buffer.from([0]))) {
    throw new DerError("its version is not 1");
  }
  const publicKey = readPublicKey(expectTag(keyInfo, derTag.sequence).bytes);
  const signed = expectTag(info, derTag.sequence).bytes;
  if (!verifySignature({ algorithm, signed, signature: readBitString(signature), publicKey })) {
    throw new SigningRequestError("the signature of the certificate signing request is wrong");
  }
  return { subject: decodeSubject(subject), publicKey };
}

function readPublicKey(key: Buffer): KeyObject {
  const publicKey = createPublicKey({ key, format: "der", type: "spki" });
  const bits = publicKey.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && (bits < rsaBitsMin || bits > rsaBitsMax)) {
    throw new DerError(`its RSA key has ${bits} bits, allowed are ${rsaBitsMin} to ${rsaBitsMax}`);
  }
  return publicKey;
}
