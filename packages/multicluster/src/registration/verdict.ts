/** What is wrong with a cluster, in a word for programs and a sentence for people that says what to do next. */
export interface Problem {
  readonly reason: ProblemReason;
  readonly message: string;
}

export type ProblemReason =
  /** There is none, or it cannot be used. */
  | "InvalidKubeConfig"
  | "KubeConfigSecretNotFound"
  | "ServerNotRegistered"
  /** The kubeconfig is fine but for its certificates or address. */
  | "ErrorCreatingClient"
  | "ClusterUnreachable"
  /** The cluster's certificate is not signed by the authority in the kubeconfig, or not for this address, or too old. */
  | "CertificateNotTrusted"
  /** The cluster's own certificate, or the client's in the kubeconfig. */
  | "CertificateExpired"
  | "CredentialsRejected"
  | "Forbidden"
  /** It answers, and says that it is not ready. */
  | "ClusterNotReady"
  /** Whoever answers does not speak Kubernetes. */
  | "UnexpectedAnswer";

/** Cluster and people meet in conditions: bounded, and on one line. */
export const messageCharactersMax = 512;

export function problem(reason: ProblemReason, message: string): Problem {
  return { reason, message: boundedMessage(message) };
}

export function boundedMessage(message: string, charactersMax = messageCharactersMax): string {
  const line = message.replaceAll(/\s+/g, " ").trim();
  return line.length <= charactersMax ? line : `${line.slice(0, charactersMax - 1)}…`;
}
