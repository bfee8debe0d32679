/** Kinds that a program declares by a schema of its own, and not by a CustomResourceDefinition. */
import type { JsonObject } from "../json/index.ts";
import type { Schema } from "./schema-builders.ts";

export interface SystemKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  /** False if omitted. */
  readonly isNamespaced?: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly columns?: readonly JsonObject[];
  /** False if omitted. */
  readonly hasStatus?: boolean;
  /**
   * Whether a change of the status counts in the generation of a kind without a status subresource;
   * true if omitted. `kubectl wait` compares `status.observedGeneration` with it.
   */
  readonly countsStatus?: boolean;
  /** The schema of the complete object. */
  readonly schema: Schema;
}

/** The equivalent CustomResourceDefinition, with accepted names. */
export function definitionOfKind(
  kind: SystemKind,
): JsonObject & { readonly metadata: { readonly name: string }; readonly spec: JsonObject } {
  const { group, version, resource } = kind;
  const names = namesOfKind(kind);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${resource}.${group}` },
    spec: {
      group,
      scope: kind.isNamespaced === true ? "Namespaced" : "Cluster",
      names,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: kind.schema },
          additionalPrinterColumns: kind.columns ?? [],
          ...(kind.hasStatus === true ? { subresources: { status: {} } } : {}),
        },
      ],
    },
    status: { acceptedNames: names, conditions: [], storedVersions: [version] },
  };
}

export function namesOfKind(declared: SystemKind) {
  const { kind, resource, shortNames = [], categories = [] } = declared;
  return {
    plural: resource,
    singular: kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    shortNames,
    categories,
  };
}
