/** For scenarios: a real cluster, which has no nodes before the scenario adds them. */
import { startRealCluster } from "../test-environments/index.ts";
import type { ScenarioCluster } from "./scenario-environment.ts";

export async function realScenarioCluster(name: string): Promise<ScenarioCluster> {
  const cluster = await startRealCluster(name, []);
  return {
    kubeconfig: cluster.kubeconfig,
    start: () => cluster.nodes.add({ name: `${name}-node` }),
    disconnect: () => cluster.faults.cut(),
    close: () => cluster.close(),
  };
}
