/**
 * The workload controllers of a cluster: all of them, or those that a real control plane does not
 * contain.
 */
import type { Controller } from "@kcp-ts/sdk";
import { attacherController } from "./attacher.ts";
import { autoscalerController } from "./autoscaler.ts";
import { claimController, reclaimController } from "./claim.ts";
import type { WorkloadContext } from "./context.ts";
import { cronJobController } from "./cron-job.ts";
import { daemonSetController } from "./daemon-set.ts";
import { deploymentController } from "./deployment.ts";
import { disruptionBudgetController } from "./disruption-budget.ts";
import { ingressController } from "./ingress.ts";
import { jobController } from "./job.ts";
import { loadBalancerController } from "./load-balancer.ts";
import { provisionerController } from "./provisioner.ts";
import { replicaSetController } from "./replica-set.ts";
import { serviceController } from "./service.ts";
import { snapshotController } from "./snapshotter.ts";
import { statefulSetController } from "./stateful-set.ts";

export function workloadControllers(context: WorkloadContext): Controller[] {
  return [
    deploymentController(context),
    replicaSetController(context),
    statefulSetController(context),
    daemonSetController(context),
    jobController(context),
    cronJobController(context),
    serviceController(context),
    ingressController(context),
    autoscalerController(context),
    disruptionBudgetController(context),
    claimController(context),
    reclaimController(context),
    attacherController(context),
    ...(context.hasSnapshots === true ? [snapshotController(context)] : []),
  ];
}

/** The controllers that a cloud runs for a control plane: addresses and volumes. */
export function cloudControllers(context: WorkloadContext): Controller[] {
  return [
    loadBalancerController(context),
    ingressController(context),
    provisionerController(context),
    reclaimController(context),
    attacherController(context),
  ];
}
