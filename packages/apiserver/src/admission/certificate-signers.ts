/**
 * Authorizes decisions about CertificateSigningRequests: approving needs the verb `approve`, and
 * signing the verb `sign`, on the requested signer. Requests to the signer of client certificates
 * may not contain groups with permissions for everything.
 *
 * Kubernetes' plugins CertificateApproval, CertificateSigning and CertificateSubjectRestriction.
 */
import { type JsonObject, type JsonValue, jsonEqual, objectOf } from "@kcp-ts/machinery/json";
import { quote, statusError } from "@kcp-ts/machinery/status";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

export interface SignerRules {
  /**
   * Whether the user of the request has the verb for a signer, or for all signers of its domain
   * (`domain/*`).
   */
  may(request: AdmissionRequest, verb: "approve" | "sign", signerName: string): Promise<boolean>;
  /** The groups in a certificate request in PEM. */
  organizationsOf(requestPem: string): readonly string[];
}

const clientSigner = "kubernetes.io/kube-apiserver-client";
const group = "certificates.k8s.io";
const resource = "certificatesigningrequests";

export function certificateSigners(rules: SignerRules): AdmissionPlugin {
  return {
    name: "CertificateSigners",
    resources: [{ group, resource }],
    validate(request, object, old) {
      if (request.operation === "CREATE") return checkSubject(rules, request, object);
      if (old === undefined) return undefined;
      if (request.subresource === "approval") return check(rules, request, old, "approve");
      if (request.subresource === "status" && isSigned(object, old)) {
        return check(rules, request, old, "sign");
      }
      return undefined;
    },
  };
}

function checkSubject(rules: SignerRules, request: AdmissionRequest, object: JsonObject): void {
  const spec = objectOf(object["spec"]);
  if (spec["signerName"] !== clientSigner) return;
  const pem = Buffer.from(String(spec["request"] ?? ""), "base64").toString("latin1");
  const asked = rules.organizationsOf(pem).find(isReserved);
  if (asked === undefined) return;
  throw refusal(request, `use of ${clientSigner} signer with ${asked} group is not allowed`);
}

/** `system:masters` as in Kubernetes; the other groups have permissions in all logical clusters. */
function isReserved(name: string): boolean {
  return name === "system:masters" || name.startsWith("system:kcp:");
}

/** Whether the certificate or the conditions have changed, which only the signer may change. */
function isSigned(object: JsonObject, old: JsonObject): boolean {
  const [after, before] = [objectOf(object["status"]), objectOf(old["status"])];
  return ["certificate", "conditions"].some(
    (name) => !jsonEqual((after[name] ?? null) as JsonValue, (before[name] ?? null) as JsonValue),
  );
}

async function check(
  rules: SignerRules,
  request: AdmissionRequest,
  old: JsonObject,
  verb: "approve" | "sign",
): Promise<void> {
  const signerName = String(objectOf(old["spec"])["signerName"] ?? "");
  const domain = `${signerName.split("/", 1)[0]}/*`;
  if (await rules.may(request, verb, signerName)) return;
  if (await rules.may(request, verb, domain)) return;
  throw refusal(
    request,
    `user not permitted to ${verb} requests with signerName ${quote(signerName)}`,
  );
}

function refusal({ name }: AdmissionRequest, message: string) {
  return statusError.forbidden({ group, resource }, name, message);
}
