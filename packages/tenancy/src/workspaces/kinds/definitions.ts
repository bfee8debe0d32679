/** The kinds of tenancy as resources: the rules that their schemas cannot express. */
import { systemDefinition } from "@kcp-ts/apiserver/custom-resources";
import type {
  Draft,
  ResourceDefinition,
  Strategy,
  SubresourceStrategy,
} from "@kcp-ts/apiserver/registry";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { deriveLogicalClusterStatus } from "./phases.ts";
import {
  logicalClusterKind,
  shardKind,
  workspaceAuthenticationConfigurationKind,
  workspaceKind,
  workspaceNamePattern,
  workspaceTypeKind,
} from "./schemas.ts";

/** The name of every LogicalCluster. */
export const logicalClusterName = "cluster";
/** The finalizer that keeps a Workspace until its logical cluster is deleted. */
export const workspaceFinalizer = "core.kcp.io/logicalcluster";

const plainLogicalClusters = systemDefinition(logicalClusterKind);
const statusOfLogicalClusters = plainLogicalClusters.subresources.get(
  "status",
) as SubresourceStrategy;

export const logicalClusters: ResourceDefinition = {
  ...plainLogicalClusters,
  // The access to a logical cluster depends on this object.
  waitsForOwnWrite: true,
  strategy: overriding(plainLogicalClusters, {
    nameErrors: (name) => (name === logicalClusterName ? [] : [`must be "${logicalClusterName}"`]),
    prepareForCreate(draft, { nowMs }) {
      (draft["metadata"] as Draft)["generation"] = 1;
      deriveLogicalClusterStatus(draft, nowMs);
    },
    prepareForUpdate(draft, old, { nowMs }) {
      keepStatus(draft, old);
      deriveLogicalClusterStatus(draft, nowMs);
    },
    prepareForDelete(draft) {
      // The begin of a deletion changes no condition, so no transition time is needed.
      deriveLogicalClusterStatus(draft, 0);
    },
  }),
  subresources: new Map([
    [
      "status",
      {
        ...statusOfLogicalClusters,
        prepareForUpdate(draft, old, context) {
          statusOfLogicalClusters.prepareForUpdate(draft, old, context);
          deriveLogicalClusterStatus(draft, context.nowMs);
        },
      },
    ],
  ]),
};

const plainWorkspaces = systemDefinition(workspaceKind);

export const workspaces: ResourceDefinition = {
  ...plainWorkspaces,
  strategy: overriding(plainWorkspaces, {
    // A generateName prefix gets a valid end from its suffix.
    nameErrors: (name, options) =>
      workspaceNamePattern.test(options?.isPrefix === true ? `${name}x` : name)
        ? []
        : [`must match the pattern ${workspaceNamePattern.source}`],
    // Admission sets the status: the strategy keeps it, and admission drops a client's.
    prepareForCreate(draft) {
      (draft["metadata"] as Draft)["generation"] = 1;
    },
  }),
};

const plainTypes = systemDefinition(workspaceTypeKind);

export const workspaceTypes: ResourceDefinition = {
  ...plainTypes,
  strategy: overriding(plainTypes, {
    // Admission sets the status, as for Workspaces.
    prepareForCreate(draft) {
      (draft["metadata"] as Draft)["generation"] = 1;
    },
  }),
};
export const workspaceAuthenticationConfigurations: ResourceDefinition = systemDefinition(
  workspaceAuthenticationConfigurationKind,
);
export const shards: ResourceDefinition = systemDefinition(shardKind);

/** The schemas that exports of root have for these kinds. */
export const tenancyKinds = {
  everywhere: [workspaceAuthenticationConfigurationKind, workspaceKind, workspaceTypeKind],
  rootOnly: [shardKind],
} as const;

/** The strategy of the server's own writes: any field of the object, without update validation. */
export const systemWrite: SubresourceStrategy = {
  verbs: [],
  prepareForUpdate(draft, _old, { nowMs }) {
    if (draft["kind"] === logicalClusters.kind) deriveLogicalClusterStatus(draft, nowMs);
  },
  validateUpdate: () => [],
};

/**
 * The strategy of the schema with these overrides. A spread would evaluate the lazy members of the
 * schema's strategy, and keep them.
 */
export function overriding({ strategy }: ResourceDefinition, own: Partial<Strategy>): Strategy {
  return Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(strategy), ...Object.getOwnPropertyDescriptors(own) },
  ) as Strategy;
}

function keepStatus(draft: Draft, old: JsonObject): void {
  if (isJsonObject(old["status"])) draft["status"] = old["status"];
  else delete draft["status"];
}
