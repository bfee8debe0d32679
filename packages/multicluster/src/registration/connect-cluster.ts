/** Creates a connection from the text of a kubeconfig, or returns the reason why that fails. */
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
import { type Problem, problem } from "./problem.ts";

export interface ClusterConnectionOptions {
  readonly clock: Clock;
  /** Whether the address in the kubeconfig may be connected to; all addresses if omitted. */
  readonly isAddressAllowed?: PermitsAddress | undefined;
}

/**
 * An unresponsive cluster must be detected within seconds, because requests that others send there
 * go to other clusters then. A ping costs next to nothing.
 */
export const clusterPings = { intervalMs: 2000, timeoutMs: 2500 } as const;

export function connectCluster(
  text: string,
  { clock, isAddressAllowed: permits }: ClusterConnectionOptions,
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
    const responseLimits = untrustedServerLimits;
    const client = new Client({
      transport,
      basePath,
      clock,
      userAgent: "kcp",
      responseLimits,
    });
    return { ...connection, transport, client };
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    return problem("ErrorCreatingClient", `${error.message}: correct the kubeconfig`);
  }
}

/**
 * The end of the client certificate's validity, when it has passed. Servers do not report it: they
 * end the handshake.
 */
function expiredCertificate(kubeconfig: Kubeconfig, nowMs: number): string | undefined {
  const { contexts, users, currentContext = "" } = kubeconfig;
  const certificate = users.get(contexts.get(currentContext)?.user ?? "")?.clientCertificate;
  if (certificate === undefined || !("data" in certificate)) return undefined;
  try {
    const { validTo } = new X509Certificate(certificate.data);
    return Date.parse(validTo) < nowMs ? validTo : undefined;
  } catch {
    // An invalid certificate is reported when the client connects.
    return undefined;
  }
}
