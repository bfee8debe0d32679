/** Keys, certificates and the credentials of administrators, and their files. */
export { aloneContexts, writeAdminKubeconfig } from "./admin-kubeconfig.ts";
export {
  AdminTokenError,
  type AdminTokens,
  loadOrCreateAdminTokens,
  newToken,
  tokenHash,
} from "./admin-tokens.ts";
export {
  authorityValidityMs,
  type CertificateAuthority,
  clockSkewMs,
  createCertificateAuthority,
  exportKey,
  generateKey,
  type IssueOptions,
  issueCertificate,
  leafValidityMs,
  renewCertificateAuthority,
} from "./certificate-authority.ts";
export { clientSigner } from "./client-signer.ts";
export { type CertificateFileErrorCode, isCertificateFileError } from "./errors.ts";
export { FileWatch, pollIntervalMs } from "./file-watch.ts";
export { type KeyPair, loadKeyPair } from "./key-pair.ts";
export { readFileIfPresent, writePrivateFile } from "./private-file.ts";
export { checkIntervalMs, renewServingCertificates } from "./serving-certificate-renewer.ts";
export {
  authorityRenewalMs,
  ensureServingCertificates,
  renewalIntervalMinMs,
  type ServingCertificates,
  servingRenewalMs,
} from "./serving-certificates.ts";
export { issueServingMaterial, type ServingMaterial } from "./serving-material.ts";
export {
  loadShardCredentials,
  type ShardCredentials,
  shardUserPrefix,
  shareCredentials,
} from "./shard-credentials.ts";
export {
  parseCertificateSigningRequest,
  rsaBitsMax,
  rsaBitsMin,
  SigningRequestError,
  signCertificateSigningRequest,
  signingRequestBytesMax,
} from "./signing-request.ts";
