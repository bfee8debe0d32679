/** An API of a physical cluster: names, scope, schema, subresources, columns. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { approvalAnnotation, crdName, type PrinterColumn } from "@kcp-ts/machinery/schema";

export interface ImportedApi {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: "Namespaced" | "Cluster";
  /** A structural schema. */
  readonly schema: JsonObject;
  readonly hasStatus: boolean;
  readonly hasScale: boolean;
  readonly columns: readonly PrinterColumn[];
}

/** Groups in which CustomResourceDefinitions need an approval annotation. */
export const protectedGroup = /(^|\.)(k8s|kubernetes)\.io$/;

/** The API as a CustomResourceDefinition with one version. */
export function definitionOf(api: ImportedApi): JsonObject {
  const { group, version, plural, singular, kind, listKind, shortNames, categories, scope } = api;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: crdName(plural, group),
      ...(protectedGroup.test(group)
        ? { annotations: { [approvalAnnotation]: "unapproved, imported from a cluster" } }
        : {}),
    },
    spec: {
      group,
      scope,
      names: {
        plural,
        singular,
        kind,
        listKind,
        ...(shortNames.length > 0 ? { shortNames: [...shortNames] } : {}),
        ...(categories.length > 0 ? { categories: [...categories] } : {}),
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...columnsOf(api),
          ...subresourcesOf(api),
          schema: { openAPIV3Schema: api.schema },
        },
      ],
    },
  };
}

function subresourcesOf({ hasStatus, hasScale }: ImportedApi): JsonObject {
  if (!hasStatus && !hasScale) return {};
  const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
  return { subresources: { ...(hasStatus ? { status: {} } : {}), ...(hasScale ? { scale } : {}) } };
}

function columnsOf({ columns }: ImportedApi): JsonObject {
  if (columns.length === 0) return {};
  const written = columns.map(({ name, type, format, description, priority, jsonPath }) => ({
    name,
    type,
    jsonPath,
    ...(format === "" ? {} : { format }),
    ...(description === "" ? {} : { description }),
    ...(priority === 0 ? {} : { priority }),
  }));
  return { additionalPrinterColumns: written as unknown as JsonValue };
}
