/**
 * The Multi-Cluster Services API (KEP-1645): a Service is exported by a ServiceExport of its name, and can be used in all clusters by a
 * ServiceImport of that name.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Condition, defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";
import type { KindDefinition } from "./kinds.ts";
import {
  ageColumn,
  column,
  conditionColumn,
  conditions,
  list,
  object,
  root,
  text,
} from "./notation.ts";

export interface ServiceExport extends KubernetesObject {
  readonly spec?: {
    readonly exportedLabels?: StringMap;
    readonly exportedAnnotations?: StringMap;
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface ServiceImport extends KubernetesObject {
  readonly spec: ServiceImportSpec;
  readonly status?: ServiceImportStatus;
}

export interface ServiceImportSpec {
  readonly type: "ClusterSetIP" | "Headless";
  readonly ports: readonly ImportedPort[];
  readonly ips?: readonly string[];
  readonly ipFamilies?: readonly string[];
  readonly sessionAffinity?: string;
  readonly sessionAffinityConfig?: JsonObject;
  readonly internalTrafficPolicy?: string;
  readonly trafficDistribution?: string;
}

export interface ImportedPort {
  readonly name?: string;
  readonly protocol?: string;
  readonly appProtocol?: string;
  readonly port: number;
}

export interface ServiceImportStatus {
  /** The clusters whose endpoints count now. */
  readonly clusters?: readonly { readonly cluster: string }[];
  readonly conditions?: readonly Condition[];
}

export const exportConditions = { valid: "Valid", ready: "Ready", conflict: "Conflict" } as const;

const group = "multicluster.x-k8s.io";
const version = "v1alpha1";

export const serviceExports = defineResource<ServiceExport>({
  group,
  version,
  resource: "serviceexports",
  kind: "ServiceExport",
  namespaced: true,
});

export const serviceImports = defineResource<ServiceImport>({
  group,
  version,
  resource: "serviceimports",
  kind: "ServiceImport",
  namespaced: true,
});

/** On EndpointSlices of an import: its name. */
export const importedServiceLabel = "multicluster.kubernetes.io/service-name";
/** On EndpointSlices of an import: the cluster that all of its endpoints are in. */
export const sourceClusterLabel = "multicluster.kubernetes.io/source-cluster";

const texts: JsonObject = { type: "object", additionalProperties: { type: "string" } };

export const serviceExportKind: KindDefinition = {
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
  schema: root(
    "The Service of the same name can be used from all clusters.",
    object({
      exportedLabels: { ...texts, description: "Labels for the ServiceImport." },
      exportedAnnotations: { ...texts, description: "Annotations for the ServiceImport." },
    }),
    object({ conditions }),
  ),
};

const integer32 = { type: "integer", format: "int32" };

export const serviceImportKind: KindDefinition = {
  group,
  version,
  kind: "ServiceImport",
  resource: "serviceimports",
  isNamespaced: true,
  shortNames: ["svcim", "svcimport"],
  categories: [],
  hasStatus: true,
  columns: [column("Type", ".spec.type"), column("IP", ".spec.ips"), ageColumn],
  schema: root(
    "A Service that is exported from one or more clusters, as it is used.",
    object(
      {
        type: text("Whether it has an address of its own.", { enum: ["ClusterSetIP", "Headless"] }),
        ports: list(
          object(
            {
              name: text("As in the EndpointSlices."),
              protocol: text("TCP, UDP or SCTP."),
              appProtocol: text("What is spoken there."),
              port: integer32,
            },
            { required: ["port"] },
          ),
          { description: "Of all exports together.", "x-kubernetes-list-type": "atomic" },
        ),
        ips: list(text(), {
          description: "Its addresses in a cluster, given by who serves it there.",
          maxItems: 2,
        }),
        ipFamilies: list(text(), { maxItems: 2 }),
        sessionAffinity: text("ClientIP or None; of no meaning when it is headless."),
        sessionAffinityConfig: object({ clientIP: object({ timeoutSeconds: integer32 }) }),
        internalTrafficPolicy: text("Cluster or Local."),
        trafficDistribution: text("A preference, such as PreferClose."),
      },
      { required: ["ports", "type"] },
    ),
    object({
      clusters: list(object({ cluster: text("A SyncTarget.") }, { required: ["cluster"] }), {
        description: "Whose endpoints count now.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["cluster"],
      }),
      conditions,
    }),
    { required: ["spec"] },
  ),
};
