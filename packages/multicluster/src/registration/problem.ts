/** The problem of a cluster: a reason for programs, and a message for users with the next step. */
export interface Problem {
  readonly reason: ProblemReason;
  readonly message: string;
}

export type ProblemReason =
  /** The kubeconfig is missing or invalid. */
  | "InvalidKubeConfig"
  | "KubeConfigSecretNotFound"
  | "ServerNotRegistered"
  /** The kubeconfig is valid except for its certificates or its address. */
  | "ErrorCreatingClient"
  | "ClusterUnreachable"
  /**
   * The cluster's certificate is not signed by the CA in the kubeconfig, not valid for this
   * address, or expired.
   */
  | "CertificateNotTrusted"
  /** The certificate of the cluster, or the client certificate in the kubeconfig, has expired. */
  | "CertificateExpired"
  | "CredentialsRejected"
  | "Forbidden"
  /** The cluster responds that it is not ready. */
  | "ClusterNotReady"
  /** The server at the address is not a Kubernetes API server. */
  | "UnexpectedResponse"
  /** The clusters of the logical cluster take all of the memory that they may. */
  | "TooManyClusters";

/**
 * Text of a cluster ends up in conditions that users read: it is shortened to this length, and to
 * one line.
 */
export const messageCharactersMax = 512;

export function problem(reason: ProblemReason, message: string): Problem {
  return { reason, message: boundedMessage(message) };
}

export function boundedMessage(message: string, charactersMax = messageCharactersMax): string {
  const line = message.replaceAll(/\s+/g, " ").trim();
  return line.length <= charactersMax ? line : `${line.slice(0, charactersMax - 1)}…`;
}
