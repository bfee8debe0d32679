export { certificateRequestsController, type SignCertificate } from "./controller.ts";
