/**
 * Simulated clusters with a port and certificates of their own, which are created in memory only.
 */
import { issueServingMaterial } from "@kcp-ts/pki";
import {
  type SimulatedCluster,
  type SimulatedClusterOptions,
  startSimulatedCluster,
} from "./simulated-cluster.ts";

export interface ListeningClusterOptions extends Omit<SimulatedClusterOptions, "listen"> {
  /** The loopback address if omitted. */
  readonly host?: string;
  /** A free port if omitted. */
  readonly port?: number;
}

/** A simulated cluster that clients reach over HTTPS, with its `kubeconfig`. */
export function startListeningCluster(options: ListeningClusterOptions): Promise<SimulatedCluster> {
  const { host = "127.0.0.1", port = 0, ...rest } = options;
  const tls = issueServingMaterial(options.name, host);
  return startSimulatedCluster({ ...rest, listen: { host, port, tls } });
}
