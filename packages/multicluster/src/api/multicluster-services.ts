/**
 * The Multi-Cluster Services API (KEP-1645): a ServiceExport exports the Service of its name, and a
 * ServiceImport of that name makes it available in all clusters.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Condition, defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";
import type { KindDefinition } from "./kinds.ts";
import {
  ageColumn,
  arrayType,
  column,
  conditionColumn,
  conditions,
  objectType,
  resourceSchema,
  stringType,
} from "./schema-builders.ts";

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
  /** The clusters whose endpoints are currently published. */
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

/** On EndpointSlices of a ServiceImport: its name. */
export const importedServiceLabel = "multicluster.kubernetes.io/service-name";
/** On EndpointSlices of a ServiceImport: the cluster of all endpoints in the slice. */
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
  schema: resourceSchema(
    "The Service of the same name can be used from all clusters.",
    objectType({
      exportedLabels: { ...texts, description: "Labels for the ServiceImport." },
      exportedAnnotations: { ...texts, description: "Annotations for the ServiceImport." },
    }),
    objectType({ conditions }),
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
  schema: resourceSchema(
    "A Service that is exported from one or more clusters, as it is used.",
    objectType(
      {
        type: stringType("Whether it has an address of its own.", {
          enum: ["ClusterSetIP", "Headless"],
        }),
        ports: arrayType(
          objectType(
            {
              name: stringType("As in the EndpointSlices."),
              protocol: stringType("TCP, UDP or SCTP."),
              appProtocol: stringType("What is spoken there."),
              port: integer32,
            },
            { required: ["port"] },
          ),
          { description: "Of all exports together.", "x-kubernetes-list-type": "atomic" },
        ),
        ips: arrayType(stringType(), {
          description: "Its addresses in a cluster, given by who serves it there.",
          maxItems: 2,
        }),
        ipFamilies: arrayType(stringType(), { maxItems: 2 }),
        sessionAffinity: stringType("ClientIP or None; of no meaning when it is headless."),
        sessionAffinityConfig: objectType({ clientIP: objectType({ timeoutSeconds: integer32 }) }),
        internalTrafficPolicy: stringType("Cluster or Local."),
        trafficDistribution: stringType("A preference, such as PreferClose."),
      },
      { required: ["ports", "type"] },
    ),
    objectType({
      clusters: arrayType(
        objectType({ cluster: stringType("A SyncTarget.") }, { required: ["cluster"] }),
        {
          description: "Whose endpoints count now.",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["cluster"],
        },
      ),
      conditions,
    }),
    { required: ["spec"] },
  ),
};
