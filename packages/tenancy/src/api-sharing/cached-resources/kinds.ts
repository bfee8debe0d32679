/** The kinds of cache.kcp.io; names, columns and rules as upstream has them. */

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

/** A reference by path, or by name within the same workspace. It never changes. */
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

/** As they are written down: what an export of root says of them. */
export const cacheKinds: readonly SystemKind[] = [cachedSliceKind, cachedResourceKind];

/** What objects of these kinds say decides what is served: a write is answered when this server has taken note of it. */
const decisive = { isSeenOnAnswer: true } as const;

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
