/**
 * A certificate authority: creates and renews itself, and issues serving and client certificates.
 *
 * Pure functions over keys and times; serving-certificates.ts handles the files.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { assert } from "@kcp-ts/machinery/base";
import { encodeCertificate, keyIdentifier, type Purpose, readIssuer } from "./certificate.ts";
import { encodeSubject, type Subject } from "./subject.ts";
import { encodeAlternativeNames } from "./subject-alternative-name.ts";

export interface CertificateAuthority {
  readonly certificatePem: string;
  readonly certificate: X509Certificate;
  readonly privateKey: KeyObject;
}

export interface IssuedCertificate {
  readonly certificatePem: string;
  readonly certificate: X509Certificate;
}

export interface IssueOptions {
  readonly authority: CertificateAuthority;
  readonly subject: Subject;
  readonly purposes: readonly Purpose[];
  /** DNS names and IP addresses, for the purpose serverAuth. */
  readonly hostnames?: readonly string[];
  /** The holder's public key; a private key is accepted for its public half. */
  readonly key: KeyObject;
  readonly now: number;
  readonly validityMs?: number;
}

const dayMs = 24 * 60 * 60 * 1000;
export const authorityValidityMs = 3650 * dayMs;
export const leafValidityMs = 365 * dayMs;

/**
 * Certificates are valid from a little before their creation, for peers whose clocks are behind.
 */
export const clockSkewMs = 5 * 60 * 1000;

/** A new key, ECDSA on P-256: small, fast to generate, and accepted by every TLS client. */
export function generateKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

export function exportKey(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

/** A self-signed authority, with a new key unless one is given. */
export function createCertificateAuthority(options: {
  readonly commonName: string;
  readonly now: number;
  readonly key?: KeyObject;
  readonly validityMs?: number;
}): CertificateAuthority {
  const { commonName, key = generateKey(), now, validityMs = authorityValidityMs } = options;
  return selfSigned(encodeSubject({ commonName }), key, { now, validityMs });
}

/**
 * The same authority, by name and key, with a new validity period: certificates that it issued stay
 * valid, and clients that still trust the old CA certificate accept certificates of the new one.
 */
export function renewCertificateAuthority(
  authority: CertificateAuthority,
  now: number,
): CertificateAuthority {
  const name = readIssuer(authority.certificate.raw).subject;
  return selfSigned(name, authority.privateKey, { now, validityMs: authorityValidityMs });
}

/** A certificate for the holder of `key`. It never outlives its authority. */
export function issueCertificate(options: IssueOptions): IssuedCertificate {
  const { authority, subject, purposes, hostnames = [], key, now } = options;
  assert(purposes.length > 0, "a certificate needs a purpose");
  const issuer = readIssuer(authority.certificate.raw);
  const notAfter = Math.min(
    now + (options.validityMs ?? leafValidityMs),
    validTo(authority.certificate),
  );
  const certificatePem = encodeCertificate({
    subject: encodeSubject(subject),
    issuer: issuer.subject,
    publicKey: key.type === "private" ? createPublicKey(key) : key,
    signingKey: authority.privateKey,
    authorityKeyId: issuer.keyId,
    notBefore: now - clockSkewMs,
    notAfter,
    profile: {
      authority: false,
      purposes,
      alternativeNames: hostnames.length === 0 ? undefined : encodeAlternativeNames(hostnames),
    },
  });
  return { certificatePem, certificate: new X509Certificate(certificatePem) };
}

/** Milliseconds since the epoch. */
export function validFrom(certificate: X509Certificate): number {
  return Date.parse(certificate.validFrom);
}

/** Milliseconds since the epoch. */
export function validTo(certificate: X509Certificate): number {
  return Date.parse(certificate.validTo);
}

function selfSigned(
  name: Buffer,
  privateKey: KeyObject,
  term: { readonly now: number; readonly validityMs: number },
): CertificateAuthority {
  const certificatePem = encodeCertificate({
    subject: name,
    issuer: name,
    publicKey: privateKey,
    signingKey: privateKey,
    authorityKeyId: keyIdentifier(privateKey),
    notBefore: term.now - clockSkewMs,
    notAfter: term.now + term.validityMs,
    profile: { authority: true },
  });
  return { certificatePem, certificate: new X509Certificate(certificatePem), privateKey };
}
