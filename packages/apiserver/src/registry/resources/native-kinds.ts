/** Every native kind, in discovery order. */

import { deployments, replicaSets } from "./apps/deployments.ts";
import { controllerRevisions, daemonSets, statefulSets } from "./apps/statefulsets.ts";
import {
  horizontalPodAutoscalers,
  horizontalPodAutoscalersV1,
} from "./autoscaling/horizontalpodautoscalers.ts";
import { cronJobs, jobs } from "./batch/jobs.ts";
import { persistentVolumeClaims, persistentVolumes } from "./core/persistentvolumes.ts";
import { pods } from "./core/pods.ts";
import { endpoints, services } from "./core/services.ts";
import { limitRanges, nodes, podTemplates, replicationControllers } from "./core/templates.ts";
import { endpointSlices } from "./discovery/endpointslices.ts";
import type { NativeKind } from "./native-kind.ts";
import {
  ingressClasses,
  ingresses,
  ipAddresses,
  networkPolicies,
  serviceCidrs,
} from "./networking/networking.ts";
import { podDisruptionBudgets } from "./policy/poddisruptionbudgets.ts";
import { resourceKinds } from "./resource-claims.ts";
import { priorityClasses, runtimeClasses } from "./scheduling/priorityclasses.ts";
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
} from "./storage/storage.ts";

export const nativeKinds: readonly NativeKind[] = [
  endpoints,
  limitRanges,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  podTemplates,
  replicationControllers,
  services,
  controllerRevisions,
  daemonSets,
  deployments,
  replicaSets,
  statefulSets,
  horizontalPodAutoscalers,
  horizontalPodAutoscalersV1,
  cronJobs,
  jobs,
  ingressClasses,
  ingresses,
  ipAddresses,
  networkPolicies,
  serviceCidrs,
  podDisruptionBudgets,
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
  priorityClasses,
  runtimeClasses,
  endpointSlices,
  ...resourceKinds,
];

const byName = new Map(nativeKinds.map((kind) => [nameOf(kind), kind]));

/** The native kind that a definition names; undefined where a name or the scope differs. */
export function findNativeKind(named: {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
}): NativeKind | undefined {
  const found = byName.get(nameOf(named));
  const isSame = found?.kind === named.kind && (found.isNamespaced ?? true) === named.isNamespaced;
  return isSame ? found : undefined;
}

/** The further versions of a native kind whose objects are stored in this one. */
export function convertedVersions(stored: {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}): readonly string[] {
  return nativeKinds
    .filter(
      ({ group, resource, storage }) =>
        group === stored.group &&
        resource === stored.resource &&
        storage?.storageVersion === stored.version,
    )
    .map(({ version = "v1" }) => version);
}

function nameOf({
  group,
  version = "v1",
  resource,
}: {
  readonly group: string;
  readonly version?: string;
  readonly resource: string;
}): string {
  return `${group}/${version}/${resource}`;
}
