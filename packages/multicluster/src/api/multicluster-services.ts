/**
 * The Multi-Cluster Services API (KEP-1645): a ServiceExport exports the Service of its name, and a
 * ServiceImport of that name makes it available in all clusters.
 */
import {
  ageColumn,
  atomic,
  column,
  conditionColumn,
  int32,
  keyedBy,
  kindSchema,
  list,
  map,
  object,
  type SystemKind,
  string,
  type TypeOf,
} from "@kcp-ts/machinery/schema";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { conditions, resourceOf, version } from "./kind-schemas.ts";

export const exportConditions = { valid: "Valid", ready: "Ready", conflict: "Conflict" } as const;

const group = "multicluster.x-k8s.io";

/** On EndpointSlices of a ServiceImport: its name. */
export const importedServiceLabel = "multicluster.kubernetes.io/service-name";
/** On EndpointSlices of a ServiceImport: the cluster of all endpoints in the slice. */
export const sourceClusterLabel = "multicluster.kubernetes.io/source-cluster";

const serviceExportSpec = object({
  exportedLabels: map(string(), { description: "Labels for the ServiceImport." }),
  exportedAnnotations: map(string(), { description: "Annotations for the ServiceImport." }),
});
const serviceExportStatus = object({ conditions });

export interface ServiceExport extends KubernetesObject {
  readonly spec?: TypeOf<typeof serviceExportSpec>;
  readonly status?: TypeOf<typeof serviceExportStatus>;
}

export const serviceExportKind: SystemKind = {
  group,
  version,
  kind: "ServiceExport",
  resource: "serviceexports",
  isNamespaced: true,
  shortNames: ["svcex", "svcexport"],
  categories: [],
  hasStatus: true,
  columns: [
    conditionColumn("Valid"),
    conditionColumn("Ready"),
    conditionColumn("Conflict"),
    ageColumn,
  ],
  schema: kindSchema("The Service of the same name can be used from all clusters.", {
    spec: serviceExportSpec,
    status: serviceExportStatus,
  }),
};
export const serviceExports = resourceOf<ServiceExport>(serviceExportKind);

const importedPort = object(
  {
    name: string("As in the EndpointSlices."),
    protocol: string("TCP, UDP or SCTP."),
    appProtocol: string("What is spoken there."),
    port: int32(),
  },
  { required: ["port"] },
);
export type ImportedPort = TypeOf<typeof importedPort>;

const serviceImportSpec = object(
  {
    type: string("Whether it has an address of its own.", { enum: ["ClusterSetIP", "Headless"] }),
    ports: list(importedPort, { description: "Of all exports together.", ...atomic }),
    ips: list(string(), {
      description: "Its addresses in a cluster, given by who serves it there.",
      maxItems: 2,
    }),
    ipFamilies: list(string(), { maxItems: 2 }),
    sessionAffinity: string("ClientIP or None; of no meaning when it is headless."),
    sessionAffinityConfig: object({ clientIP: object({ timeoutSeconds: int32() }) }),
    internalTrafficPolicy: string("Cluster or Local."),
    trafficDistribution: string("A preference, such as PreferClose."),
  },
  { required: ["ports", "type"] },
);
export type ServiceImportSpec = TypeOf<typeof serviceImportSpec>;

const serviceImportStatus = object({
  clusters: list(object({ cluster: string("A SyncTarget.") }, { required: ["cluster"] }), {
    description: "Whose endpoints count now.",
    ...keyedBy("cluster"),
  }),
  conditions,
});
export type ServiceImportStatus = TypeOf<typeof serviceImportStatus>;

export interface ServiceImport extends KubernetesObject {
  readonly spec: ServiceImportSpec;
  readonly status?: ServiceImportStatus;
}

export const serviceImportKind: SystemKind = {
  group,
  version,
  kind: "ServiceImport",
  resource: "serviceimports",
  isNamespaced: true,
  shortNames: ["svcim", "svcimport"],
  categories: [],
  hasStatus: true,
  columns: [column("Type", ".spec.type"), column("IP", ".spec.ips"), ageColumn],
  schema: kindSchema(
    "A Service that is exported from one or more clusters, as it is used.",
    { spec: serviceImportSpec, status: serviceImportStatus },
    { required: ["spec"] },
  ),
};
export const serviceImports = resourceOf<ServiceImport>(serviceImportKind);
