/** Creates a connection from the text of a kubeconfig, or returns the reason why that fails. */
import { X509Certificate } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  Client,
  type Connection,
  type ConnectOptions,
  connect,
  type Kubeconfig,
  KubeconfigError,
  type PermitsAddress,
  untrustedServerLimits,
} from "@kcp-ts/sdk";
import { checkKubeconfig, isProblem } from "./check-kubeconfig.ts";
import { pacedTransport, ResponseRateLimiter, responseBytes } from "./paced-transport.ts";
import { type Problem, problem } from "./problem.ts";
import type { TenantShares } from "./tenant-share.ts";

export interface ClusterConnectionOptions {
  readonly clock: Clock;
  /** The logical cluster of the SyncTarget. */
  readonly cluster: ClusterName;
  readonly shares: TenantShares;
  /** Whether the address in the kubeconfig may be connected to; all addresses if omitted. */
  readonly isAddressAllowed?: PermitsAddress | undefined;
  readonly connect?: ConnectFunction | undefined;
}

/** Opens the connection to the cluster of a kubeconfig: over sockets if it is omitted. */
export type ConnectFunction = (kubeconfig: Kubeconfig, options: ConnectOptions) => Connection;

/**
 * An unresponsive cluster must be detected within seconds, because requests that others send there
 * go to other clusters then. A ping costs next to nothing.
 */
export const clusterPings = { intervalMs: 2000, timeoutMs: 2500 } as const;

export function connectCluster(
  text: string,
  {
    clock,
    cluster,
    shares,
    isAddressAllowed: permits,
    connect: open = connect,
  }: ClusterConnectionOptions,
): Connection | Problem {
  const kubeconfig = checkKubeconfig(text);
  if (isProblem(kubeconfig)) return kubeconfig;
  const expired = expiredCertificate(kubeconfig, clock.now());
  if (expired !== undefined)
    return problem(
      "CertificateExpired",
      `the client certificate in the kubeconfig is good until ${expired} only: put a new one in`,
    );
  const share = shares.open(cluster);
  if (share === undefined)
    return problem(
      "TooManyClusters",
      "the physical clusters of this workspace, and their objects, take all of the memory or of the connections that they may: delete SyncTargets, or register them in another workspace",
    );
  try {
    const connection = open(kubeconfig, { clock, permits, pings: clusterPings });
    const ofCluster = new ResponseRateLimiter(clock, responseBytes.ofCluster);
    const transport = pacedTransport(connection.transport, [ofCluster, share.rateLimiter]);
    const { basePath } = connection.client;
    const responseLimits = { ...untrustedServerLimits, memory: share.memory };
    const client = new Client({
      transport,
      basePath,
      clock,
      userAgent: "kcp",
      responseLimits,
      requiresPreconditions: true,
    });
    const close = async () => {
      share.release();
      await connection.close();
    };
    return { ...connection, transport, client, close };
  } catch (error) {
    share.release();
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
