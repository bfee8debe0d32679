/**
 * Deployments as the coordinator reads and writes them. Clusters define the type themselves, so an
 * object may have any content: an object without the shape of a Deployment is ignored.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import {
  asWorkload,
  isCount,
  specCount,
  statusCount,
  type Workload,
  type WorkloadCondition,
} from "./workload.ts";

export interface Deployment extends Workload {
  readonly status?: DeploymentStatus;
}

export interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly unavailableReplicas?: number;
  readonly terminatingReplicas?: number;
  readonly collisionCount?: number;
  readonly conditions?: readonly WorkloadCondition[];
}

export const deployments = defineResource<Deployment>(kinds.deployments);

/** The object as a Deployment; undefined if it cannot be scheduled as one. */
export function asDeployment(object: KubernetesObject): Deployment | undefined {
  const found = asWorkload(object);
  const { replicas } = (found?.spec ?? {}) as { replicas?: JsonValue };
  if (replicas !== undefined && !isCount(replicas)) return undefined;
  return found;
}

/** The requested replicas, with the API's default of 1. */
export function replicasOf(deployment: Workload): number {
  return specCount(deployment, "replicas", 1);
}

/** A count of the status; an invalid value counts as 0. */
export function countOf(
  deployment: Workload,
  field: keyof Omit<DeploymentStatus, "conditions">,
): number {
  return statusCount(deployment, field);
}
