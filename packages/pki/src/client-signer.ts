/**
 * Signs client certificates for requests that were approved in a logical cluster.
 *
 * Whoever approves there says who somebody is there, and nowhere else: the cluster is written into the certificate, beside the common name
 * and the organizations that were asked for, and is all of the subject that the asker has no say in.
 */
import {
  type CertificateAuthority,
  issueCertificate,
  leafValidityMs,
} from "./certificate-authority.ts";
import { parseCertificateSigningRequest, SigningRequestError } from "./signing-request.ts";

export interface ClientCertificateRequest {
  readonly cluster: string;
  /** PEM. */
  readonly request: string;
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
}

export type ClientCertificateResult =
  | { readonly certificatePem: string }
  | { readonly refusal: string };

export interface ClientSignerOptions {
  readonly authority: CertificateAuthority;
  readonly now: () => number;
  /** What the certificate says of the cluster. */
  readonly clusterUnit: (cluster: string) => string;
}

/** Shorter ones would be over before they are fetched. */
const validityMinMs = 10 * 60 * 1000;

const allowedUsages = new Set(["client auth", "digital signature", "key encipherment"]);

export function clientSigner({ authority, now, clusterUnit }: ClientSignerOptions) {
  return (wish: ClientCertificateRequest): ClientCertificateResult => {
    const wrong = usagesError(wish.usages);
    if (wrong !== undefined) return { refusal: wrong };
    try {
      const { subject, publicKey } = parseCertificateSigningRequest(wish.request);
      const group = subject.organizations.find(isReserved);
      if (group !== undefined) return { refusal: `the group ${group} cannot be had this way` };
      if (subject.commonName === "") return { refusal: "the subject has no common name" };
      const { certificatePem } = issueCertificate({
        authority,
        subject: { ...subject, organizationalUnits: [clusterUnit(wish.cluster)] },
        purposes: ["clientAuth"],
        key: publicKey,
        now: now(),
        validityMs: validityOf(wish.expirationSeconds),
      });
      return { certificatePem };
    } catch (error) {
      if (error instanceof SigningRequestError) return { refusal: error.message };
      throw error;
    }
  };
}

/** Groups with power over all logical clusters. */
function isReserved(group: string): boolean {
  return group === "system:masters" || group.startsWith("system:kcp:");
}

function usagesError(usages: readonly string[]): string | undefined {
  const other = usages.find((usage) => !allowedUsages.has(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes("client auth")
    ? undefined
    : "missing required usage for client certificate: client auth";
}

function validityOf(seconds: number | undefined): number {
  if (seconds === undefined) return leafValidityMs;
  return Math.min(Math.max(seconds * 1000, validityMinMs), leafValidityMs);
}
