/**
 * For scenarios that run on several kinds of clusters: a test environment provides clusters,
 * simulated or real ones. Objects that a test left in a cluster are removed before the next test
 * uses it.
 */
import type { NodeOptions, SimulatedCluster } from "@kcp-ts/simulator";
import { startListeningCluster } from "@kcp-ts/simulator";
import { freePorts } from "@kcp-ts/testkit";

export interface TestCluster extends Pick<SimulatedCluster, "name" | "client" | "nodes" | "close"> {
  /** An administrator's, over the network. */
  readonly kubeconfig: string;
  /** Whether anybody gets through by `kubeconfig`. */
  readonly faults: { cut(): Promise<void>; heal(): Promise<void> };
}

/** A test, or who else says when a cluster is no longer needed. */
export interface CleanupScope {
  after(close: () => Promise<void>): void;
}

export interface TestEnvironment {
  readonly kind: "simulated" | "real";
  /** One node with much of everything if none are given. */
  acquire(to: CleanupScope, name: string, nodes?: readonly NodeOptions[]): Promise<TestCluster>;
  close(): Promise<void>;
}

/** Nothing is started faster than it can be seen, and nothing is waited for longer than needed. */
export const testKubelet = { startDelayMs: { min: 10, max: 50 }, stopDelayMs: 20, runMs: 100 };

export function oneNode(cluster: string): readonly NodeOptions[] {
  return [{ name: `${cluster}-node` }];
}

/** They cost little: every test has its own. */
export const simulatedClusters: TestEnvironment = {
  kind: "simulated",
  async acquire(to, name, nodes = oneNode(name)) {
    const kubelet = testKubelet;
    // One that is cut off comes back in the same place.
    const [port = 0] = await freePorts(1);
    const cluster = await startListeningCluster({ name, nodes, kubelet, port });
    to.after(() => cluster.close());
    const { client, faults, kubeconfig = "" } = cluster;
    return { name, client, nodes: cluster.nodes, faults, kubeconfig, close: () => cluster.close() };
  },
  close: async () => {},
};
