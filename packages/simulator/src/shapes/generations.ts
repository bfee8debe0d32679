/**
 * Two generations of Kubernetes to simulate. The shapes are those of the newer generation; an older
 * cluster does not know some of their fields.
 *
 * The table results from a comparison of the published types of the two releases. An old cluster
 * prunes unknown fields as a real one does, and its OpenAPI documents do not contain them: API
 * negotiation is tested with this difference.
 */
import { type MessageShape, narrowShape } from "@kcp-ts/machinery/shape";

export type Generation = "1.28" | "1.36";

export const generations: readonly Generation[] = ["1.28", "1.36"];

const core = "io.k8s.api.core.v1";

/** Message name → fields that were added after 1.28. */
const newerFields: ReadonlyMap<string, readonly string[]> = new Map([
  ["io.k8s.api.apps.v1.DeploymentStatus", ["terminatingReplicas"]],
  ["io.k8s.api.apps.v1.ReplicaSetStatus", ["terminatingReplicas"]],
  ["io.k8s.api.autoscaling.v2.HPAScalingRules", ["tolerance"]],
  ["io.k8s.api.batch.v1.JobSpec", ["successPolicy", "managedBy"]],
  [`${core}.Container`, ["restartPolicyRules"]],
  [`${core}.ContainerStatus`, ["volumeMounts", "user", "allocatedResourcesStatus", "stopSignal"]],
  [`${core}.EnvVarSource`, ["fileKeyRef"]],
  [`${core}.EphemeralContainerCommon`, ["restartPolicyRules"]],
  [`${core}.Lifecycle`, ["stopSignal"]],
  [`${core}.LifecycleHandler`, ["sleep"]],
  [`${core}.LoadBalancerIngress`, ["ipMode"]],
  [`${core}.NodeStatus`, ["runtimeHandlers", "features", "declaredFeatures"]],
  [`${core}.NodeSystemInfo`, ["swap"]],
  [`${core}.PersistentVolumeClaimSpec`, ["volumeAttributesClassName"]],
  [
    `${core}.PersistentVolumeClaimStatus`,
    ["currentVolumeAttributesClassName", "modifyVolumeStatus"],
  ],
  [`${core}.PersistentVolumeSpec`, ["volumeAttributesClassName"]],
  [`${core}.PodAffinityTerm`, ["matchLabelKeys", "mismatchLabelKeys"]],
  [`${core}.PodCondition`, ["observedGeneration"]],
  [`${core}.PodResourceClaim`, ["resourceClaimName", "resourceClaimTemplateName"]],
  [
    `${core}.PodSecurityContext`,
    ["supplementalGroupsPolicy", "appArmorProfile", "seLinuxChangePolicy"],
  ],
  [`${core}.PodSpec`, ["resources", "hostnameOverride", "schedulingGroup"]],
  [
    `${core}.PodStatus`,
    [
      "observedGeneration",
      "extendedResourceClaimStatus",
      "allocatedResources",
      "resources",
      "nodeAllocatableResourceClaimStatuses",
    ],
  ],
  [`${core}.ResourceClaim`, ["request"]],
  [`${core}.SecurityContext`, ["appArmorProfile"]],
  [`${core}.ServiceSpec`, ["trafficDistribution"]],
  [`${core}.VolumeMount`, ["recursiveReadOnly"]],
  [`${core}.VolumeProjection`, ["clusterTrustBundle", "podCertificate"]],
  [`${core}.VolumeSource`, ["image"]],
  ["io.k8s.api.discovery.v1.EndpointHints", ["forNodes"]],
]);

const older = new WeakMap<MessageShape, MessageShape>();
const missing = new Map([...newerFields].map(([name, fields]) => [name, new Set(fields)]));

/** The shape as a cluster of that generation knows it. */
export function inGeneration(shape: MessageShape, generation: Generation): MessageShape {
  if (generation === "1.36") return shape;
  const known = older.get(shape) ?? narrowShape(shape, missing);
  older.set(shape, known);
  return known;
}
