/**
 * An error in one line that says what to do next, for logs. Messages of servers are shown as they
 * are, without line breaks and not at length.
 */
import { isStatusError, type StatusError } from "@kcp-ts/machinery/status";
import { isMissingWorkspace } from "./connectivity.ts";
import { formatResource, type Resource } from "./resource.ts";
import { isTransportError, type TransportError } from "./transport.ts";

export interface ExplainOptions {
  /** The request is a list or a watch of this resource. */
  readonly resource?: Resource | undefined;
}

const lineLengthMax = 600;

export function explainError(error: unknown, options: ExplainOptions = {}): string {
  const text = isStatusError(error)
    ? explainStatus(error, options)
    : isTransportError(error)
      ? explainTransport(error)
      : explainOther(error);
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= lineLengthMax ? line : `${line.slice(0, lineLengthMax)}…`;
}

function explainStatus(error: StatusError, { resource }: ExplainOptions): string {
  const { code, message } = error;
  switch (code) {
    case 401:
      return `${message} (401). Next: check the user of the kubeconfig with "kubectl auth whoami"`;
    case 403:
      return `${message} (403). Next: grant it with a Role or ClusterRole and a binding, or use a user who may`;
    case 404:
      if (isMissingWorkspace(error) && resource?.resource !== "workspaces")
        return `${message} (404). Next: correct the path in the server's address of the kubeconfig`;
      if (resource === undefined) return `${message} (404)`;
      return `${formatResource(resource)} is not served here (404). Next: ${howToServe(resource)}`;
    case 409:
      return `${message} (409). Next: nothing, it is read again; if it never ends, two writers disagree`;
    case 422:
      return `${message} (422). Next: correct the object that is written`;
    default:
      return `${message} (${code})`;
  }
}

function howToServe({ group, resource }: Resource): string {
  const compare = `compare group, version and name with "kubectl api-resources"`;
  // Of Kubernetes itself: pods, deployments.apps, ingresses.networking.k8s.io.
  if (!group.includes(".") || group.endsWith(".k8s.io"))
    return `${compare}; a logical cluster of kcp serves a kind of workloads where a physical cluster is registered or bound`;
  return `${compare}; install its definition ("kubectl get crd ${resource}.${group}") or bind its APIExport, in the logical cluster that the client is in`;
}

function explainTransport(error: TransportError): string {
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  const text = error.message.includes(cause.slice(2)) ? error.message : `${error.message}${cause}`;
  if (error.code !== "connect") return `${text} (${error.code})`;
  const { code } = (error.cause ?? {}) as { readonly code?: string };
  const next = code === undefined ? undefined : certificateProblems[code];
  if (next !== undefined) return `${text} (${code}). Next: ${next}`;
  return `${text}. Next: check that the server runs and that the kubeconfig has its address`;
}

const otherAuthority =
  "the certificate authority of the kubeconfig has to be the one that has signed the server's certificate";
const certificateProblems: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: otherAuthority,
  UNABLE_TO_GET_ISSUER_CERT: otherAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: otherAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: otherAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: otherAuthority,
  CERT_SIGNATURE_FAILURE: otherAuthority,
  CERT_HAS_EXPIRED: "renew the certificate of the server",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the address in the kubeconfig, or its tls-server-name, has to be a name of the certificate",
};

/** Of a bug: where it is. */
function explainOther(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "KubeconfigError") return `${error.message}. Next: correct the kubeconfig`;
  const frame = error.stack?.split("\n").find((line) => /^\s+at .*[/\\]/.test(line));
  const place = frame === undefined ? "" : ` (${frame.trim()})`;
  return `${error.name}: ${error.message}${place}`;
}
