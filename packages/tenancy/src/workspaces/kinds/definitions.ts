/** The kinds of tenancy as resources: what their schemas cannot say. */

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

/** Every LogicalCluster has this name. */
export const logicalClusterName = "cluster";
/** Holds a Workspace back until its logical cluster is gone. */
export const workspaceFinalizer = "core.kcp.io/logicalcluster";

const plainLogicalClusters = systemDefinition(logicalClusterKind);
const statusOfLogicalClusters = plainLogicalClusters.subresources.get(
  "status",
) as SubresourceStrategy;

export const logicalClusters: ResourceDefinition = {
  ...plainLogicalClusters,
  // Whether somebody may enter a logical cluster is decided by it.
  isSeenOnAnswer: true,
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
      // Deletion begins without a transition that a condition would tell of.
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
    // What comes behind a prefix makes an end of it.
    nameErrors: (name, options) =>
      workspaceNamePattern.test(options?.isPrefix === true ? `${name}x` : name)
        ? []
        : [`must match the pattern ${workspaceNamePattern.source}`],
    // The status is what admission says of it: what a client sends is dropped there.
    prepareForCreate(draft) {
      (draft["metadata"] as Draft)["generation"] = 1;
    },
  }),
};

const plainTypes = systemDefinition(workspaceTypeKind);

export const workspaceTypes: ResourceDefinition = {
  ...plainTypes,
  strategy: overriding(plainTypes, {
    // As with workspaces, admission says what the status is.
    prepareForCreate(draft) {
      (draft["metadata"] as Draft)["generation"] = 1;
    },
  }),
};
export const workspaceAuthenticationConfigurations: ResourceDefinition = systemDefinition(
  workspaceAuthenticationConfigurationKind,
);
export const shards: ResourceDefinition = systemDefinition(shardKind);

/** As they are written down: what exports of root say of them. */
export const tenancyKinds = {
  everywhere: [workspaceAuthenticationConfigurationKind, workspaceKind, workspaceTypeKind],
  rootOnly: [shardKind],
} as const;

/** Writes of the server itself: any part of the object, held to no rule about what changes. */
export const systemWrite: SubresourceStrategy = {
  verbs: [],
  prepareForUpdate(draft, _old, { nowMs }) {
    if (draft["kind"] === logicalClusters.kind) deriveLogicalClusterStatus(draft, nowMs);
  },
  validateUpdate: () => [],
};

/** The schema's own rules but for these. A spread would call what the schema offers on demand, and keep it. */
function overriding({ strategy }: ResourceDefinition, own: Partial<Strategy>): Strategy {
  return Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(strategy),
      ...Object.getOwnPropertyDescriptors(own),
    },
  ) as Strategy;
}

function keepStatus(draft: Draft, old: JsonObject): void {
  if (isJsonObject(old["status"])) draft["status"] = old["status"];
  else delete draft["status"];
}
