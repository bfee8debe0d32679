/** Translates the error of a request to a cluster into the cluster's problem. */
import { StatusError } from "@kcp-ts/machinery/status";
import { isTransportError } from "@kcp-ts/sdk";
import { type Problem, problem } from "./problem.ts";

export function diagnose(error: unknown): Problem {
  if (error instanceof StatusError) return ofStatus(error);
  const codes = codesOf(error);
  const what = error instanceof Error ? error.message : String(error);
  const tls = codes.find((code) => untrusted.has(code) || code.startsWith("CERT_"));
  const expired = tls === undefined ? undefined : outOfTime.get(tls);
  if (expired !== undefined) return problem("CertificateExpired", `${what} (${tls}): ${expired}`);
  if (tls !== undefined)
    return problem(
      "CertificateNotTrusted",
      `${what} (${tls}): check certificate-authority-data and the server's address in the kubeconfig`,
    );
  if (codes.some((code) => code.startsWith("ERR_OSSL") || code.startsWith("ERR_SSL")))
    return problem(
      "ErrorCreatingClient",
      `${what}: check that client-certificate-data, client-key-data and certificate-authority-data are PEM, base64 encoded, and belong together`,
    );
  if (isTransportError(error) || codes.length > 0 || isTimeout(error))
    return problem(
      "ClusterUnreachable",
      `${what}: check that the cluster runs, and that its address can be reached from the control plane`,
    );
  return problem(
    "UnexpectedResponse",
    `${what}: check that the server in the kubeconfig is a Kubernetes API server`,
  );
}

function ofStatus(error: StatusError): Problem {
  const { code, message } = error;
  if (code === 401)
    return problem(
      "CredentialsRejected",
      "the cluster does not accept the credentials in the kubeconfig (401): they were revoked or have expired; put new ones in",
    );
  if (code === 403)
    return problem(
      "Forbidden",
      `${message}: grant it to the user in the kubeconfig, by a ClusterRole and a ClusterRoleBinding in the cluster`,
    );
  if (code >= 500)
    return problem("ClusterNotReady", `the cluster is not ready (${code}): ${message}`);
  return problem("UnexpectedResponse", `the cluster answers with ${code}: ${message}`);
}

const untrusted: ReadonlySet<string> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "INVALID_CA",
]);

/** How to renew an expired certificate, by error code. */
const outOfTime: ReadonlyMap<string, string> = new Map([
  [
    "CERT_HAS_EXPIRED",
    "renew the cluster's serving certificate; if it is still good there, set the clock of the control plane",
  ],
  [
    "CERT_NOT_YET_VALID",
    "the clock of the cluster is ahead of the control plane's: set both by the same time",
  ],
]);

const causesMax = 8;

/** Errors wrap errors; the innermost one is the cause. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  let at = error;
  for (let depth = 0; depth < causesMax && at instanceof Error; depth++) {
    const { code } = at as { code?: unknown };
    if (typeof code === "string" && at.name !== "TransportError") codes.push(code);
    at = at.cause;
  }
  return codes;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
}
