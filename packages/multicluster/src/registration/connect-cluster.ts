/** From the text of a kubeconfig to a connection, or to why there is none. */
import { X509Certificate } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import {
  Client,
  type Connection,
  connect,
  type Kubeconfig,
  KubeconfigError,
  type PermitsAddress,
  untrustedServerLimits,
} from "@kcp-ts/sdk";
import { boundedTransport } from "./bounded-transport.ts";
import { checkKubeconfig, isProblem } from "./check-kubeconfig.ts";
import { type Problem, problem } from "./verdict.ts";

export interface ClusterConnectionOptions {
  readonly clock: Clock;
  /** Whether an address that the kubeconfig leads to may be connected to; all may if left out. */
  readonly permits?: PermitsAddress | undefined;
}

/** That a cluster has fallen silent is to be known in seconds: requests that others send there go elsewhere then. A ping costs next to nothing. */
export const clusterPings = { intervalMs: 2000, timeoutMs: 2500 } as const;

export function connectCluster(
  text: string,
  { clock, permits }: ClusterConnectionOptions,
): Connection | Problem {
  const kubeconfig = checkKubeconfig(text);
  if (isProblem(kubeconfig)) return kubeconfig;
  const expired = expiredCertificate(kubeconfig, clock.now());
  if (expired !== undefined)
    return problem(
      "CertificateExpired",
      `the client certificate in the kubeconfig is good until ${expired} only: put a new one in`,
    );
  try {
    const connection = connect(kubeconfig, { clock, permits, pings: clusterPings });
    const transport = boundedTransport(connection.transport, { clock });
    const { basePath } = connection.client;
    const answers = untrustedServerLimits;
    const client = new Client({ transport, basePath, clock, userAgent: "kcp", answers });
    return { ...connection, transport, client };
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    return problem("ErrorCreatingClient", `${error.message}: correct the kubeconfig`);
  }
}

/** The end of its time, when that has passed. Servers say nothing of it: they end the handshake. */
function expiredCertificate(kubeconfig: Kubeconfig, nowMs: number): string | undefined {
  const { contexts, users, currentContext = "" } = kubeconfig;
  const certificate = users.get(contexts.get(currentContext)?.user ?? "")?.clientCertificate;
  if (certificate === undefined || !("data" in certificate)) return undefined;
  try {
    const { validTo } = new X509Certificate(certificate.data);
    return Date.parse(validTo) < nowMs ? validTo : undefined;
  } catch {
    // What is no certificate is found out by whoever connects, and said there.
    return undefined;
  }
}
