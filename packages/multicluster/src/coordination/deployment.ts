/**
 * Deployments as the splitter reads and writes them. Clusters define the type for themselves, so an object may be anything: what does not look like
 * a Deployment is none.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type Condition, defineResource, type KubernetesObject } from "@kcp-ts/sdk";

export interface Deployment extends KubernetesObject {
  readonly spec: JsonObject;
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
  readonly conditions?: readonly DeploymentCondition[];
}

export interface DeploymentCondition extends Condition {
  readonly lastUpdateTime?: string;
}

export const deployments = defineResource<Deployment>({
  group: "apps",
  version: "v1",
  resource: "deployments",
  kind: "Deployment",
  namespaced: true,
});

/** As many as fit the type's int32. */
export const replicasMax = 2 ** 31 - 1;

/** Undefined for what is no Deployment that can be split. */
export function asDeployment(object: KubernetesObject): Deployment | undefined {
  const { spec, status } = object as { spec?: JsonValue; status?: JsonValue };
  if (!isJsonObject(spec)) return undefined;
  const { replicas } = spec as { replicas?: JsonValue };
  if (replicas !== undefined && !isCount(replicas)) return undefined;
  if (status !== undefined && !isJsonObject(status)) return undefined;
  return object as Deployment;
}

/** What the API defaults to. */
export function replicasOf({ spec }: Deployment): number {
  const { replicas } = spec as { replicas?: JsonValue };
  return isCount(replicas) ? replicas : 1;
}

/** A count that a cluster reports; nonsense counts as nothing. */
export function countOf(
  { status }: Deployment,
  field: keyof Omit<DeploymentStatus, "conditions">,
): number {
  const value = status?.[field] as JsonValue | undefined;
  return isCount(value) ? value : 0;
}

export function conditionsOf({ status }: Deployment): readonly DeploymentCondition[] {
  const conditions = status?.conditions as unknown;
  if (!Array.isArray(conditions)) return [];
  return conditions.filter(
    (one: unknown) => isJsonObject(one) && typeof one["type"] === "string",
  ) as DeploymentCondition[];
}

/** Whether the cluster says that it has acted on the newest spec. */
export function isObserved(deployment: Deployment): boolean {
  return countOf(deployment, "observedGeneration") >= (deployment.metadata.generation ?? 0);
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= replicasMax;
}
