/**
 * A system kind that is declared by a schema: served like a custom kind, but by every logical
 * cluster, and without a CustomResourceDefinition that clients could see or change.
 */
import { assert } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { readCustomResourceDefinition } from "@kcp-ts/machinery/schema";
import type { ResourceDefinition } from "../registry/index.ts";
import { internDefinition } from "./shared-definition.ts";
import type { SharedVersion } from "./shared-version.ts";

export interface SystemKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  /** False if omitted. */
  readonly isNamespaced?: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly columns: readonly JsonObject[];
  readonly hasStatus: boolean;
  /** The schema of the complete object. */
  readonly schema: JsonObject;
}

export function systemDefinition(kind: SystemKind): ResourceDefinition {
  const { group, version, resource } = kind;
  const names = {
    plural: resource,
    singular: kind.kind.toLowerCase(),
    kind: kind.kind,
    listKind: `${kind.kind}List`,
    shortNames: [...(kind.shortNames ?? [])],
    categories: [...(kind.categories ?? [])],
  };
  const object: JsonObject = {
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
          additionalPrinterColumns: [...kind.columns],
          ...(kind.hasStatus ? { subresources: { status: {} } } : {}),
        },
      ],
    },
    status: { acceptedNames: names, conditions: [], storedVersions: [version] },
  };
  const { definition, problems } = readCustomResourceDefinition(object);
  assert(problems.length === 0, `${resource}.${group}: ${problems.join(", ")}`);
  const shared = internDefinition(object, definition, false).version(version);
  assert(shared !== undefined, `${resource}.${group} has no version ${version}`);
  return plainDefinition(shared);
}

/** A copy whose members can be replaced one by one. */
function plainDefinition(shared: SharedVersion): ResourceDefinition {
  const { group, version, resource, singular, kind, listKind } = shared;
  return {
    group,
    version,
    resource,
    singular,
    kind,
    listKind,
    isNamespaced: shared.isNamespaced,
    shortNames: shared.shortNames,
    categories: shared.categories,
    verbs: shared.verbs,
    identity: "",
    itemsCarryKind: true,
    strategy: shared.strategy,
    subresources: shared.subresources,
    openApi: shared.openApi,
  };
}
