/** A certificate and its private key, as two PEM files. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { CertificateFileError } from "./errors.ts";
import { readFileIfPresent } from "./private-file.ts";

export interface KeyPairPaths {
  readonly certificateFile: string;
  readonly privateKeyFile: string;
}

export interface KeyPair {
  /** The file's content: a chain if it contains one, leaf first. */
  readonly certificatePem: string;
  /** The first certificate of the file. */
  readonly certificate: X509Certificate;
  readonly privateKeyPem: string;
  readonly privateKey: KeyObject;
}

/** Reads the operator's certificate and key. Throws `CertificateFileError` unless they match. */
export async function loadKeyPair(paths: KeyPairPaths): Promise<KeyPair> {
  const pair = await loadKeyPairIfPresent(paths);
  const privateKey = pair.privateKey ?? missing(paths.privateKeyFile);
  const certificate = pair.certificate ?? missing(paths.certificateFile);
  return { ...privateKey, ...certificate };
}

/** Reads the existing files of the pair; when both exist, they match. */
export async function loadKeyPairIfPresent(
  paths: KeyPairPaths,
): Promise<{
  readonly certificate: Pick<KeyPair, "certificate" | "certificatePem"> | undefined;
  readonly privateKey: Pick<KeyPair, "privateKey" | "privateKeyPem"> | undefined;
}> {
  const certificatePem = await read(paths.certificateFile);
  const privateKeyPem = await read(paths.privateKeyFile);
  const certificate =
    certificatePem === undefined
      ? undefined
      : { certificatePem, certificate: parseCertificate(paths.certificateFile, certificatePem) };
  const privateKey =
    privateKeyPem === undefined
      ? undefined
      : { privateKeyPem, privateKey: parsePrivateKey(paths.privateKeyFile, privateKeyPem) };
  if (
    certificate &&
    privateKey &&
    !certificate.certificate.checkPrivateKey(privateKey.privateKey)
  ) {
    throw new CertificateFileError("mismatched", {
      path: paths.certificateFile,
      message: `the certificate does not belong to the key in ${paths.privateKeyFile}; restore the file that was changed`,
    });
  }
  return { certificate, privateKey };
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFileIfPresent(path);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? "unknown error";
    throw new CertificateFileError("unreadable", {
      path,
      message: `cannot be read (${reason}); check that it is a file and that this user may read it`,
      cause,
    });
  }
}

function parseCertificate(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new CertificateFileError("corrupt", {
      path,
      message: "is not a PEM certificate; restore it from a copy",
      cause,
    });
  }
}

function parsePrivateKey(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new CertificateFileError("corrupt", {
      path,
      message: "is not a PEM private key without a passphrase; restore it from a copy",
      cause,
    });
  }
}

function missing(path: string): never {
  throw new CertificateFileError("missing", { path, message: "does not exist" });
}
