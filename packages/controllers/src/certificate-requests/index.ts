export {
  type CertificateRequest,
  type CertificateRequestsOptions,
  certificateRequestsController,
  clientSignerName,
  type SignCertificate,
  type SigningOutcome,
} from "./controller.ts";
export { decidedAgeMaxMs, endOf, pendingAgeMaxMs } from "./end-of-request.ts";
