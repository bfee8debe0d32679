/** For short-lived servers of tests and demos: a certificate of an own authority, never stored. */
import { systemClock } from "@kcp-ts/machinery/base";
import {
  createCertificateAuthority,
  exportKey,
  generateKey,
  issueCertificate,
} from "./certificate-authority.ts";

export interface ServingMaterial {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  /** The CA certificate that clients must trust. */
  readonly caPem: string;
}

/** The certificate also covers the names of the loopback address. */
export function issueServingMaterial(name: string, host: string): ServingMaterial {
  // Clients check certificates by the real time, whatever the server's clock shows.
  const now = systemClock.now();
  const authority = createCertificateAuthority({ commonName: `${name}-ca`, now });
  const key = generateKey();
  const { certificatePem } = issueCertificate({
    authority,
    subject: { commonName: name },
    purposes: ["serverAuth"],
    hostnames: [...new Set(["localhost", "127.0.0.1", "::1", host])],
    key,
    now,
  });
  return { certificatePem, privateKeyPem: exportKey(key), caPem: authority.certificatePem };
}
