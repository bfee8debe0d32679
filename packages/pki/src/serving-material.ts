/** For servers that live as long as a test or a demonstration: a certificate of an authority of their own, written nowhere. */
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
  /** What clients must trust. */
  readonly caPem: string;
}

/** Also for the names of the loopback address. */
export function issueServingMaterial(name: string, host: string): ServingMaterial {
  // Clients judge certificates by the real time, whatever the server's clock says.
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
