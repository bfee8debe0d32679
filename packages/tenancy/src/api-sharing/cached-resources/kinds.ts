/** The kinds of cache.kcp.io, with upstream's names, columns and rules. */
import { systemDefinition } from "@kcp-ts/apiserver/custom-resources";
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import {
  ageColumn,
  column,
  kindSchema,
  object,
  rules,
  type Schema,
  type SystemKind,
  string,
} from "@kcp-ts/machinery/schema";
import { conditions, labelSelector } from "../../workspaces/index.ts";
import { endpoints, identity, pathPattern, resourceGroup, resourceName } from "../kinds/schemas.ts";

const shared = {
  group: "cache.kcp.io",
  version: "v1alpha1",
  categories: ["kcp"],
  hasStatus: true,
} as const;

const integer: Schema = { type: "integer" };

const cachedResourceKind: SystemKind = {
  ...shared,
  kind: "ClusterCachedResource",
  resource: "clustercachedresources",
  columns: [
    column("Resource", ".spec.resource", { description: "Resource type being published" }),
    ageColumn,
  ],
  schema: kindSchema(
    "A resource of this workspace whose objects can be offered to other workspaces, to be read.",
    {
      spec: object(
        {
          group: resourceGroup,
          version: string("The version in which objects are shown; the preferred one if left out."),
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
        identityHash: string("Tells what is published here from others of the same name."),
        resourceCounts: object(
          { cache: integer, local: integer },
          { required: ["cache", "local"] },
        ),
        phase: string("", {
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
function reference(what: string): Schema {
  const path = `The workspace of the ${what}; the one of this object when it is left out.`;
  return object(
    { path: string(path, { pattern: pathPattern }), name: string(`The name of the ${what}.`) },
    { required: ["name"], ...rules(["self == oldSelf", `${what} reference must not be changed`]) },
  );
}

const cachedSliceKind: SystemKind = {
  ...shared,
  kind: "ClusterCachedResourceEndpointSlice",
  resource: "clustercachedresourceendpointslices",
  columns: [
    column("ClusterCachedResource", ".spec.clusterCachedResource.name", {
      description: "The ClusterCachedResource.",
    }),
    ageColumn,
  ],
  schema: kindSchema(
    "Where the objects of a ClusterCachedResource are served to consumers of an APIExport.",
    {
      spec: object(
        {
          clusterCachedResource: reference("ClusterCachedResource"),
          export: reference("APIExport"),
          partition: string("A Partition beside it, whose shards alone are listed."),
        },
        { required: ["clusterCachedResource", "export"] },
      ),
      status: object({ conditions, endpoints, shardSelector: string() }),
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
