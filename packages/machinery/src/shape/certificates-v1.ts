/** The shapes of certificates.k8s.io/v1. Numbers are those of the published protobuf files. */
import { objectMeta } from "./meta.ts";
import {
  bytes,
  int32,
  list,
  listMap,
  map,
  message,
  replacedByPatch,
  string,
  time,
} from "./shape.ts";

const certificates = "io.k8s.api.certificates.v1";

const requestCondition = message(
  `${certificates}.CertificateSigningRequestCondition`,
  {
    type: [1, string, "Approved, Denied, Failed, or another."],
    status: [6, string, "True, False or Unknown; the three above are True."],
    reason: [2, string, "A word for programs."],
    message: [3, string, "A sentence for people."],
    lastUpdateTime: [4, time, "When the condition was last set."],
    lastTransitionTime: [5, time, "When the status last changed."],
  },
  "One aspect of how far the request has come.",
  { required: ["type", "status"] },
);

const requestSpec = message(
  `${certificates}.CertificateSigningRequestSpec`,
  {
    request: [1, bytes, "A PEM block with the PKCS#10 request, in base64."],
    signerName: [7, string, "Who is asked to sign, such as example.com/signer-name."],
    expirationSeconds: [8, int32, "How long the certificate should be valid; the signer decides."],
    usages: [5, list(string), "What the certificate is to be used for."],
    username: [2, string, "Who asks; set by the server."],
    uid: [3, string, "UID of who asks; set by the server."],
    groups: [4, list(string), "Groups of who asks; set by the server."],
    extra: [6, map(list(string)), "More about who asks; set by the server."],
  },
  "What is asked for, and by whom. It cannot be changed.",
  { required: ["request", "signerName"] },
);

const requestStatus = message(
  `${certificates}.CertificateSigningRequestStatus`,
  {
    conditions: [
      1,
      replacedByPatch(listMap(requestCondition, "type")),
      "Whether the request is approved, denied or failed.",
    ],
    certificate: [2, bytes, "The issued certificate and its chain as PEM, in base64."],
  },
  "What became of the request.",
);

export const certificateSigningRequest = message(
  `${certificates}.CertificateSigningRequest`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [2, requestSpec, "What is asked for, and by whom. It cannot be changed."],
    status: [3, requestStatus, "What became of the request."],
  },
  "Asks a signer for a certificate, after approval.",
  { required: ["spec"] },
);
