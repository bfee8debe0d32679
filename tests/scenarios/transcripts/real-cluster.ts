/** For transcripts: a real cluster, which has no machines before the transcript says so. */
import { startRealCluster } from "../grounds/index.ts";
import type { ScenarioCluster } from "./stage.ts";

export async function realScenarioCluster(name: string): Promise<ScenarioCluster> {
  const cluster = await startRealCluster(name, []);
  return {
    kubeconfig: cluster.kubeconfig,
    start: () => cluster.nodes.add({ name: `${name}-node` }),
    lose: () => cluster.faults.cut(),
    close: () => cluster.close(),
  };
}
