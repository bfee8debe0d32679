/**
 * The server's own certificates on disk: `ca.crt`, `ca.key`, `apiserver.crt`, `apiserver.key`.
 *
 *     neither file   a new key, then a certificate for it
 *     key alone      a certificate for that key (a crash came between the two writes, or someone removed it)
 *     both           used, after checks; a certificate that is due is issued again *for the same key*
 *     certificate alone, damaged files, halves that do not fit: refused, nothing is guessed
 *
 * A renewal replaces one file by a rename, so no crash can leave a pair that does not fit.
 */
import type { KeyObject, X509Certificate } from "node:crypto";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@kcp-ts/machinery/base";
import { alternativeNamesExtension } from "./certificate.ts";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  exportKey,
  generateKey,
  issueCertificate,
  leafValidityMs,
  renewCertificateAuthority,
  validFrom,
  validTo,
} from "./certificate-authority.ts";
import { CertificateFileError } from "./errors.ts";
import { type KeyPairPaths, loadKeyPairIfPresent } from "./key-pair.ts";
import { writePrivateFile } from "./private-file.ts";
import { encodeAlternativeNames } from "./subject-alternative-name.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** A serving certificate is renewed when less than this time is left. */
export const servingRenewalMs = 30 * dayMs;

/** The CA certificate is renewed earlier, so that no certificate's validity has to be shortened. */
export const authorityRenewalMs = leafValidityMs + servingRenewalMs;

/**
 * Certificates of an authority that kcp cannot renew may be due at once; they are not issued more
 * often than this.
 */
export const renewalIntervalMinMs = 60 * 60 * 1000;

export interface ServingCertificates {
  /** The CA certificate that clients must trust. */
  readonly caPem: string;
  readonly authority: CertificateAuthority;
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  /**
   * Milliseconds since the epoch, always in the future: call again then, and give the server the
   * new secure context.
   */
  readonly nextRenewalAt: number;
  /** The certificates that this call created. */
  readonly issued: readonly ("authority" | "serving")[];
}

export interface ServingCertificateOptions {
  readonly directory: string;
  /** DNS names and IP addresses of the server. */
  readonly hostnames: readonly string[];
  readonly clock: Pick<Clock, "now">;
}

export async function ensureServingCertificates(
  options: ServingCertificateOptions,
): Promise<ServingCertificates> {
  const { directory, hostnames } = options;
  const now = options.clock.now();
  await mkdir(directory, { recursive: true, mode: 0o700 });

  const authority = await ensureAuthority(pairPaths(directory, "ca"), now);
  const serving = await ensureServing(pairPaths(directory, "apiserver"), {
    authority: authority.value,
    hostnames,
    now,
  });
  const due = Math.min(
    validTo(authority.value.certificate) - authorityRenewalMs,
    validTo(serving.certificate) - servingRenewalMs,
  );
  return {
    caPem: authority.value.certificatePem,
    authority: authority.value,
    certificatePem: serving.certificatePem,
    privateKeyPem: exportKey(serving.privateKey),
    nextRenewalAt: due > now ? due : now + renewalIntervalMinMs,
    issued: [
      ...(authority.issued ? (["authority"] as const) : []),
      ...(serving.issued ? (["serving"] as const) : []),
    ],
  };
}

async function ensureAuthority(
  paths: KeyPairPaths,
  now: number,
): Promise<{ readonly value: CertificateAuthority; readonly issued: boolean }> {
  const { key, certificate, certificatePem } = await loadOrCreateKey(paths);
  if (certificate === undefined) {
    const created = createCertificateAuthority({ commonName: authorityName, now, key });
    return { value: await saved(paths, created), issued: true };
  }
  if (!certificate.ca) {
    throw new CertificateFileError("corrupt", {
      path: paths.certificateFile,
      message: "is not the certificate of an authority (CA:TRUE); restore it from a copy",
    });
  }
  const loaded = { certificatePem, certificate, privateKey: key };
  if (isCurrent(certificate, { now, renewalMs: authorityRenewalMs })) {
    return { value: loaded, issued: false };
  }
  // kcp cannot renew an authority that another one signed; it is used until its end.
  if (!certificate.checkIssued(certificate)) {
    if (isCurrent(certificate, { now, renewalMs: 0 })) return { value: loaded, issued: false };
    throw new CertificateFileError("expired", {
      path: paths.certificateFile,
      message: `is valid from ${certificate.validFrom} to ${certificate.validTo} and was signed by another authority; have it renewed there`,
    });
  }
  return { value: await saved(paths, renewCertificateAuthority(loaded, now)), issued: true };
}

async function ensureServing(
  paths: KeyPairPaths,
  wanted: {
    readonly authority: CertificateAuthority;
    readonly hostnames: readonly string[];
    readonly now: number;
  },
): Promise<{
  readonly certificatePem: string;
  readonly certificate: X509Certificate;
  readonly privateKey: KeyObject;
  readonly issued: boolean;
}> {
  const { authority, hostnames, now } = wanted;
  const { key, certificate, certificatePem } = await loadOrCreateKey(paths);
  if (
    certificate !== undefined &&
    isCurrent(certificate, { now, renewalMs: servingRenewalMs }) &&
    isIssuedBy(certificate, authority) &&
    certificate.raw.includes(alternativeNamesExtension(encodeAlternativeNames(hostnames)))
  ) {
    return { certificatePem, certificate, privateKey: key, issued: false };
  }
  const renewed = issueCertificate({
    authority,
    subject: { commonName: servingName },
    purposes: ["serverAuth"],
    hostnames,
    key,
    now,
  });
  return { ...(await saved(paths, renewed)), privateKey: key, issued: true };
}

const authorityName = "kcp-ca";
const servingName = "kcp";

function pairPaths(directory: string, name: string): KeyPairPaths {
  return {
    certificateFile: join(directory, `${name}.crt`),
    privateKeyFile: join(directory, `${name}.key`),
  };
}

/**
 * The pair on disk; a key is created when there is none. `certificatePem` belongs to `certificate`.
 */
async function loadOrCreateKey(
  paths: KeyPairPaths,
): Promise<{
  readonly key: KeyObject;
  readonly certificate: X509Certificate | undefined;
  readonly certificatePem: string;
}> {
  const found = await loadKeyPairIfPresent(paths);
  if (found.privateKey === undefined) {
    if (found.certificate !== undefined) {
      throw new CertificateFileError("missing", {
        path: paths.privateKeyFile,
        message: `does not exist, but ${paths.certificateFile} does; restore the key, or remove the certificate to have both made anew`,
      });
    }
    const key = generateKey();
    await writePrivateFile(paths.privateKeyFile, exportKey(key));
    return { key, certificate: undefined, certificatePem: "" };
  }
  await chmod(paths.privateKeyFile, 0o600);
  return {
    key: found.privateKey.privateKey,
    certificate: found.certificate?.certificate,
    certificatePem: found.certificate?.certificatePem ?? "",
  };
}

async function saved<Issued extends { readonly certificatePem: string }>(
  paths: KeyPairPaths,
  issued: Issued,
): Promise<Issued> {
  await writePrivateFile(paths.certificateFile, issued.certificatePem);
  return issued;
}

/** Valid now, and for longer than `renewalMs` from now. */
function isCurrent(
  certificate: X509Certificate,
  { now, renewalMs }: { readonly now: number; readonly renewalMs: number },
): boolean {
  return validFrom(certificate) <= now && now < validTo(certificate) - renewalMs;
}

function isIssuedBy(certificate: X509Certificate, authority: CertificateAuthority): boolean {
  return (
    certificate.checkIssued(authority.certificate) &&
    certificate.verify(authority.certificate.publicKey)
  );
}
