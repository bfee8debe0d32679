/**
 * Signs client certificates for requests that were approved in a logical cluster.
 *
 * An approval identifies a user in that cluster, and in no other: the signer writes the cluster
 * into the certificate, beside the requested common name and organizations; the requester cannot
 * choose the cluster.
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
  /** The cluster attribute of the certificate. */
  readonly clusterUnit: (cluster: string) => string;
}

/** Shorter certificates would expire before they are fetched. */
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

/** Groups with permissions in all logical clusters. */
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
