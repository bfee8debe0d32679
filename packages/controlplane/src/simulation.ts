/** The door `@kcp-ts/controlplane/simulation`: simulated clusters with a port and certificates of their own, made for them and written nowhere. */
import { systemClock } from "@kcp-ts/machinery/base";
import {
  type SimulatedCluster,
  type SimulatedClusterOptions,
  startSimulatedCluster,
} from "@kcp-ts/simulator";
import {
  createCertificateAuthority,
  exportKey,
  generateKey,
  issueCertificate,
} from "./certificates/index.ts";

export {
  type Generation,
  generations,
  type KubeletSettings,
  type NodeOptions,
  type SimulatedCluster,
  type SimulatedClusterOptions,
  type SimulatedNodes,
  startSimulatedCluster,
} from "@kcp-ts/simulator";

export interface ListeningClusterOptions extends Omit<SimulatedClusterOptions, "listen"> {
  /** The loopback address if left out. */
  readonly host?: string;
  /** A free one if left out. */
  readonly port?: number;
}

/** A simulated cluster that is reached over HTTPS, by its `kubeconfig`. */
export function startListeningCluster(options: ListeningClusterOptions): Promise<SimulatedCluster> {
  const { host = "127.0.0.1", port = 0, ...rest } = options;
  // Clients judge certificates by the real time, whatever the cluster's clock says.
  const now = systemClock.now();
  const authority = createCertificateAuthority({ commonName: `${options.name}-ca`, now });
  const key = generateKey();
  const { certificatePem } = issueCertificate({
    authority,
    subject: { commonName: options.name },
    purposes: ["serverAuth"],
    hostnames: [...new Set(["localhost", "127.0.0.1", "::1", host])],
    key,
    now,
  });
  const caPem = authority.certificatePem;
  const tls = { certificatePem, privateKeyPem: exportKey(key), caPem };
  return startSimulatedCluster({ ...rest, listen: { host, port, tls } });
}
