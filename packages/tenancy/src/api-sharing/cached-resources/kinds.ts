/** The kinds of cache.kcp.io, with upstream's names, columns and rules. */
import { type SystemKind, systemDefinition } from "@kcp-ts/apiserver/custom-resources";
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { schemaBuilders } from "../../workspaces/index.ts";
import { endpoints, identity, pathPattern, resourceGroup, resourceName } from "../kinds/schemas.ts";

const { ageColumn, column, conditions, labelSelector, object, root, rules, text } = schemaBuilders;

const shared = {
  group: "cache.kcp.io",
  version: "v1alpha1",
  categories: ["kcp"],
  hasStatus: true,
} as const;

const integer: JsonObject = { type: "integer" };

const cachedResourceKind: SystemKind = {
  ...shared,
  kind: "ClusterCachedResource",
  resource: "clustercachedresources",
  columns: [column("Resource", ".spec.resource", "Resource type being published"), ageColumn],
  schema: root(
    "A resource of this workspace whose objects can be offered to other workspaces, to be read.",
    {
      spec: object(
        {
          group: resourceGroup,
          version: text("The version in which objects are shown; the preferred one if left out."),
          resource: resourceName,
          identity,
          labelSelector: {
            ...labelSelector,
            description: "Which objects are published; all of them if left out.",
          },
        },
        { required: ["resource"] },
      ),
      status: object({
        identityHash: text("Tells what is published here from others of the same name."),
        resourceCounts: object(
          { cache: integer, local: integer },
          { required: ["cache", "local"] },
        ),
        phase: text("", {
          default: "Initializing",
          enum: ["Scheduling", "Initializing", "Ready", "Deleting", "Deleted"],
        }),
        conditions,
      }),
    },
    { required: ["spec"] },
  ),
};

/** An immutable reference by path, or by name within the same workspace. */
function reference(what: string): JsonObject {
  const path = `The workspace of the ${what}; the one of this object when it is left out.`;
  return object(
    { path: text(path, { pattern: pathPattern }), name: text(`The name of the ${what}.`) },
    {
      required: ["name"],
      ...rules(["self == oldSelf", `${what} reference must not be changed`]),
    },
  );
}

const cachedSliceKind: SystemKind = {
  ...shared,
  kind: "ClusterCachedResourceEndpointSlice",
  resource: "clustercachedresourceendpointslices",
  columns: [
    column(
      "ClusterCachedResource",
      ".spec.clusterCachedResource.name",
      "The ClusterCachedResource.",
    ),
    ageColumn,
  ],
  schema: root(
    "Where the objects of a ClusterCachedResource are served to consumers of an APIExport.",
    {
      spec: object(
        {
          clusterCachedResource: reference("ClusterCachedResource"),
          export: reference("APIExport"),
          partition: text("A Partition beside it, whose shards alone are listed."),
        },
        { required: ["clusterCachedResource", "export"] },
      ),
      status: object({ conditions, endpoints, shardSelector: text() }),
    },
    { required: ["spec"] },
  ),
};

/** The schemas that an export of root has for these kinds. */
export const cacheKinds: readonly SystemKind[] = [cachedSliceKind, cachedResourceKind];

/**
 * Objects of these kinds decide what is served: the response to a write waits until this server has
 * seen the write.
 */
const decisive = { waitsForOwnWrite: true } as const;

export const clusterCachedResources: ResourceDefinition = {
  ...systemDefinition(cachedResourceKind),
  ...decisive,
};
export const clusterCachedResourceEndpointSlices: ResourceDefinition = {
  ...systemDefinition(cachedSliceKind),
  ...decisive,
};

export const cacheResources: readonly ResourceDefinition[] = [
  clusterCachedResourceEndpointSlices,
  clusterCachedResources,
];
