/**
 * The kinds of physical clusters as definitions: every logical cluster serves them without a
 * CustomResourceDefinition of its own.
 */
import type { SystemKind } from "@kcp-ts/machinery/schema";
import { apiResourceImportKind, negotiatedApiResourceKind } from "./api-resources.ts";
import { serviceExportKind, serviceImportKind } from "./multicluster-services.ts";
import { locationKind, placementKind } from "./scheduling.ts";
import { syncPolicyKind } from "./sync-policy.ts";
import { syncTargetKind } from "./sync-target.ts";
import { clusterDaemonSetKind, workloadStrategyKind } from "./workload-kinds.ts";
import { workloadPlacementKind } from "./workload-placement.ts";

/** The kinds in the order of their registration. */
export const multiclusterKinds: readonly SystemKind[] = [
  syncTargetKind,
  apiResourceImportKind,
  negotiatedApiResourceKind,
  clusterDaemonSetKind,
  workloadStrategyKind,
  syncPolicyKind,
  locationKind,
  placementKind,
  workloadPlacementKind,
  serviceExportKind,
  serviceImportKind,
];
