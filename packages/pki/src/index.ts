/** Keys, certificates and the credentials of administrators, and their files. */
export {
  type AdminKubeconfig,
  aloneContexts,
  formatAdminKubeconfig,
  type KubeconfigContext,
  writeAdminKubeconfig,
} from "./admin-kubeconfig.ts";
export {
  AdminTokenError,
  type AdminTokenPaths,
  type AdminTokens,
  loadOrCreateAdminTokens,
  newToken,
  tokenHash,
} from "./admin-tokens.ts";
export type { Purpose } from "./certificate.ts";
export {
  authorityValidityMs,
  type CertificateAuthority,
  clockSkewMs,
  createCertificateAuthority,
  exportKey,
  generateKey,
  type IssuedCertificate,
  type IssueOptions,
  issueCertificate,
  leafValidityMs,
  renewCertificateAuthority,
} from "./certificate-authority.ts";
export {
  type ClientCertificateRequest,
  type ClientCertificateResult,
  type ClientSignerOptions,
  clientSigner,
} from "./client-signer.ts";
export {
  CertificateFileError,
  type CertificateFileErrorCode,
  isCertificateFileError,
} from "./errors.ts";
export { FileWatch, type FileWatchOptions, pollIntervalMs } from "./file-watch.ts";
export { type KeyPair, type KeyPairPaths, loadKeyPair } from "./key-pair.ts";
export { readFileIfPresent, writePrivateFile } from "./private-file.ts";
export {
  checkIntervalMs,
  renewServingCertificates,
  type ServingCertificateRenewer,
} from "./serving-certificate-renewer.ts";
export {
  authorityRenewalMs,
  ensureServingCertificates,
  renewalIntervalMinMs,
  type ServingCertificateOptions,
  type ServingCertificates,
  servingRenewalMs,
} from "./serving-certificates.ts";
export { issueServingMaterial, type ServingMaterial } from "./serving-material.ts";
export {
  parseCertificateSigningRequest,
  rsaBitsMax,
  rsaBitsMin,
  type SigningRequest,
  SigningRequestError,
  signCertificateSigningRequest,
  signingRequestBytesMax,
} from "./signing-request.ts";
export type { ParsedSubject, Subject } from "./subject.ts";
