/**
 * Creates the initial content of `root`: its own LogicalCluster, the Shard of this server, and the
 * built-in WorkspaceTypes.
 *
 * Missing objects are created and existing ones left unchanged, so that changes of an administrator
 * persist; only the URLs of the Shard follow the server.
 */
import { namespaces } from "@kcp-ts/apiserver/registry";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
import {
  clusterScoped,
  ensureObject,
  shardKey,
  systemWriteOptions,
  type TenancyDependencies,
} from "./dependencies.ts";
import {
  logicalClusterName,
  logicalClusters,
  shards,
  systemWrite,
  workspaceTypes,
} from "./kinds/definitions.ts";
import { createMetricsViewer } from "./metrics-viewer.ts";
import { annotation, member } from "./records.ts";
import { createRootRoles } from "./root-roles.ts";
import { shardName } from "./shard.ts";
import { typeStatus } from "./type-admission.ts";

/** Options of the initial content of root. */
export interface RootBootstrapOptions {
  /**
   * Creates the types `organization` and `team`, the first of which is the default type of
   * workspaces below root; true if omitted.
   */
  readonly workspaceTypes?: boolean | undefined;
  /** Creates a service account that may read metrics; false if omitted. */
  readonly metricsViewer?: boolean | undefined;
  /** The groups that may create home workspaces; all authenticated users if omitted. */
  readonly homeCreatorGroups?: readonly string[] | undefined;
}

/** Returns true when the external URL of the server has changed. */
export async function bootstrapRoot(
  dependencies: TenancyDependencies,
  externalUrl: string,
  content: RootBootstrapOptions = {},
): Promise<boolean> {
  const inRoot = (name: string) => clusterScoped(rootCluster, name);
  const before = await dependencies.shardIndex.get(shardKey);
  if (before === undefined)
    await ensureObject(dependencies, shards, inRoot(shardName), shardObject(externalUrl));
  const isMoved = before !== undefined && before.externalUrl !== externalUrl;
  if (isMoved) await updateShardUrls(dependencies, externalUrl);
  await ensureObject(dependencies, logicalClusters, inRoot(logicalClusterName), {
    metadata: {
      annotations: {
        [annotation.path]: rootCluster,
        [annotation.type]: "root:root",
        [annotation.shard]: shardName,
        [annotation.owner]: JSON.stringify({ username: "system:kcp-bootstrapper" }),
      },
    },
    spec: { directlyDeletable: false },
    status: { URL: `${externalUrl}/clusters/${rootCluster}` },
  });
  await bootstrapShared(dependencies, externalUrl, content);
  if (content.metricsViewer === true) await createMetricsViewer(dependencies);
  return isMoved;
}

/**
 * The part of root that workspaces of every shard refer to: types, and the roles that permit their
 * use. A shard has them from its first start on, also while root cannot be reached; nobody reads
 * this copy as the logical cluster root.
 */
export async function bootstrapCopyOfRoot(
  dependencies: TenancyDependencies,
  externalUrl: string,
  content: RootBootstrapOptions = {},
): Promise<false> {
  await bootstrapShared(dependencies, externalUrl, content);
  return false;
}

async function bootstrapShared(
  dependencies: TenancyDependencies,
  externalUrl: string,
  content: RootBootstrapOptions,
): Promise<void> {
  const inRoot = (name: string) => clusterScoped(rootCluster, name);
  const { workspaceTypes: hasOrganizations = true } = content;
  for (const [name, spec] of hasOrganizations ? builtInTypes : plainTypes) {
    const metadata = { annotations: { [annotation.path]: rootCluster } };
    const status = typeStatus([externalUrl], rootCluster, name, dependencies.clock.now());
    await ensureObject(dependencies, workspaceTypes, inRoot(name), { metadata, spec, status });
  }
  await ensureObject(dependencies, namespaces, inRoot("default"), {});
  await createRootRoles(dependencies, content.homeCreatorGroups);
}

function shardObject(url: string): JsonObject {
  return {
    metadata: { labels: { name: shardName } },
    spec: { baseURL: url, externalURL: url, virtualWorkspaceURL: url },
  };
}

/** The external URL of the server may differ from that of the last start. */
async function updateShardUrls({ registry }: TenancyDependencies, url: string): Promise<void> {
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerivedFromLive: true };
  const build = async (old: JsonObject | undefined) => {
    const spec = { ...member(old ?? {}, "spec"), ...(shardObject(url)["spec"] as JsonObject) };
    return { ...old, spec };
  };
  await registry.update(shards, clusterScoped(rootCluster, shardName), build, rules);
}

const inRoot = (name: string) => ({ name, path: "root" });
const universal = inRoot("universal");

/** The types of kcp with its default batteries. */
const builtInTypes: readonly (readonly [name: string, spec: JsonObject])[] = [
  [
    "universal",
    {
      initializer: true,
      defaultChildWorkspaceType: universal,
      defaultAPIBindings: [
        { path: "root", export: "tenancy.kcp.io" },
        { path: "root", export: "topology.kcp.io" },
      ],
    },
  ],
  [
    "home",
    {
      extend: { with: [universal] },
      defaultChildWorkspaceType: universal,
      limitAllowedParents: { none: true },
    },
  ],
  [
    "root",
    {
      extend: { with: [universal] },
      defaultChildWorkspaceType: inRoot("organization"),
      limitAllowedParents: { none: true },
    },
  ],
  [
    "organization",
    {
      extend: { with: [universal] },
      defaultChildWorkspaceType: universal,
      limitAllowedParents: { types: [inRoot("root")] },
      limitAllowedChildren: { types: [universal] },
    },
  ],
  [
    "team",
    {
      extend: { with: [universal] },
      defaultChildWorkspaceType: universal,
      limitAllowedParents: { types: [inRoot("organization"), inRoot("team")] },
    },
  ],
];

/**
 * The types without those of the battery: workspaces below root are universal unless they name a
 * type.
 */
const plainTypes: typeof builtInTypes = builtInTypes
  .filter(([name]) => name !== "organization" && name !== "team")
  .map(([name, spec]) => [name, { ...spec, defaultChildWorkspaceType: universal }]);
