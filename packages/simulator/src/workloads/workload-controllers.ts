/** All workload controllers of a cluster. */
import type { Controller } from "@kcp-ts/sdk";
import type { WorkloadContext } from "./context.ts";
import { deploymentController } from "./deployment.ts";
import { replicaSetController } from "./replica-set.ts";

export function workloadControllers(context: WorkloadContext): Controller[] {
  return [deploymentController(context), replicaSetController(context)];
}
