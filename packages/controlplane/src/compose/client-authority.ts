/**
 * The CA of client certificates that logical clusters approve: created at the first start, or the
 * operator's own.
 */
import { join } from "node:path";
import type { Clock } from "@kcp-ts/machinery/base";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  exportKey,
  loadKeyPair,
  readFileIfPresent,
  renewCertificateAuthority,
  writePrivateFile,
} from "@kcp-ts/pki";
import { OptionsError } from "../options.ts";

export interface ClientAuthorityOptions {
  /**
   * By default `<root>/client-ca.crt` and `.key`, created at the first start; in memory where there
   * is no directory.
   */
  readonly clusterSigningCertFile?: string | undefined;
  readonly clusterSigningKeyFile?: string | undefined;
}

const commonName = "kcp-client-ca";
/**
 * A CA certificate this close to its expiry is renewed at the start; its name and key stay, and so
 * do the certificates that it issued.
 */
const renewalMs = 2 * 365 * 24 * 60 * 60 * 1000;

export async function loadClientAuthority(
  { clusterSigningCertFile, clusterSigningKeyFile }: ClientAuthorityOptions,
  { rootDirectory, clock }: { readonly rootDirectory?: string | undefined; readonly clock: Clock },
): Promise<CertificateAuthority> {
  if (clusterSigningCertFile !== undefined && clusterSigningKeyFile !== undefined) {
    const given = {
      certificateFile: clusterSigningCertFile,
      privateKeyFile: clusterSigningKeyFile,
    };
    return loadKeyPair(given);
  }
  if (clusterSigningCertFile !== undefined || clusterSigningKeyFile !== undefined) {
    throw new OptionsError(
      "--cluster-signing-cert-file and --cluster-signing-key-file go together: give both or neither",
    );
  }
  const now = clock.now();
  if (rootDirectory === undefined) return createCertificateAuthority({ commonName, now });
  const certificateFile = join(rootDirectory, "client-ca.crt");
  const privateKeyFile = join(rootDirectory, "client-ca.key");
  if ((await readFileIfPresent(certificateFile)) === undefined) {
    const authority = createCertificateAuthority({ commonName, now });
    await writePrivateFile(privateKeyFile, exportKey(authority.privateKey));
    await writePrivateFile(certificateFile, authority.certificatePem);
    return authority;
  }
  const found = await loadKeyPair({ certificateFile, privateKeyFile });
  if (Date.parse(found.certificate.validTo) - now > renewalMs) return found;
  const renewed = renewCertificateAuthority(found, now);
  await writePrivateFile(certificateFile, renewed.certificatePem);
  return renewed;
}
