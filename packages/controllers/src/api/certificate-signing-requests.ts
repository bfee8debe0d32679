import { builtInResource, type KubernetesObject } from "@kcp-ts/sdk";

export interface RequestCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastUpdateTime?: string;
  readonly lastTransitionTime?: string;
}

export interface CertificateSigningRequest extends KubernetesObject {
  readonly spec: {
    /** PEM in base64. */
    readonly request: string;
    readonly signerName: string;
    readonly usages?: readonly string[];
    readonly expirationSeconds?: number;
  };
  readonly status?: {
    readonly conditions?: readonly RequestCondition[];
    /** PEM in base64. */
    readonly certificate?: string;
  };
}

export const certificateSigningRequests = builtInResource<CertificateSigningRequest>(
  "certificatesigningrequests.certificates.k8s.io",
);
