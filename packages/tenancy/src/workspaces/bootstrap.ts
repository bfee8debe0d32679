/**
 * What there is in `root` before anybody makes anything: its own LogicalCluster, the Shard that this server is, and the types of workspaces.
 *
 * Made when it is missing and left alone when it is not, so that what an administrator changed stays changed; only the addresses of the shard
 * follow the server.
 */

import { namespaces } from "@kcp-ts/apiserver/registry";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
import {
  logicalClusterName,
  logicalClusters,
  shards,
  systemWrite,
  workspaceTypes,
} from "./kinds/definitions.ts";
import { createMetricsViewer } from "./metrics-viewer.ts";
import {
  clusterScoped,
  ensureObject,
  shardKey,
  systemWriteOptions,
  type TenancyDependencies,
} from "./parts.ts";
import { annotation, member } from "./records.ts";
import { createRootRoles } from "./root-roles.ts";
import { shardName } from "./shard.ts";
import { typeStatus } from "./type-admission.ts";

/** What may be wanted of it or not. */
export interface RootBootstrapOptions {
  /** The types `organization` and `team`, the first of which is what workspaces below root are by default; there if left out. */
  readonly workspaceTypes?: boolean | undefined;
  /** A service account that may read metrics; not there if left out. */
  readonly metricsViewer?: boolean | undefined;
  /** Who may have a home made; everybody who is known if left out. */
  readonly homeCreatorGroups?: readonly string[] | undefined;
}

/** True when the server is reached under another address than before. */
export async function bootstrapRoot(
  parts: TenancyDependencies,
  externalUrl: string,
  content: RootBootstrapOptions = {},
): Promise<boolean> {
  const inRoot = (name: string) => clusterScoped(rootCluster, name);
  const before = await parts.shardIndex.get(shardKey);
  if (before === undefined)
    await ensureObject(parts, shards, inRoot(shardName), shardObject(externalUrl));
  const isMoved = before !== undefined && before.externalUrl !== externalUrl;
  if (isMoved) await updateShardUrls(parts, externalUrl);
  await ensureObject(parts, logicalClusters, inRoot(logicalClusterName), {
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
  const { workspaceTypes: hasOrganizations = true } = content;
  for (const [name, spec] of hasOrganizations ? builtInTypes : plainTypes) {
    const metadata = { annotations: { [annotation.path]: rootCluster } };
    const status = typeStatus(externalUrl, rootCluster, name, parts.clock.now());
    await ensureObject(parts, workspaceTypes, inRoot(name), { metadata, spec, status });
  }
  await ensureObject(parts, namespaces, inRoot("default"), {});
  await createRootRoles(parts, content.homeCreatorGroups);
  if (content.metricsViewer === true) await createMetricsViewer(parts);
  return isMoved;
}

function shardObject(url: string): JsonObject {
  return {
    metadata: { labels: { name: shardName } },
    spec: { baseURL: url, externalURL: url, virtualWorkspaceURL: url },
  };
}

/** The server may be reached under another address than last time. */
async function updateShardUrls({ registry }: TenancyDependencies, url: string): Promise<void> {
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerived: true };
  const build = async (old: JsonObject | undefined) => {
    const spec = { ...member(old ?? {}, "spec"), ...(shardObject(url)["spec"] as JsonObject) };
    return { ...old, spec };
  };
  await registry.update(shards, clusterScoped(rootCluster, shardName), build, rules);
}

const inRoot = (name: string) => ({ name, path: "root" });
const universal = inRoot("universal");

/** As kcp with its default batteries has them. */
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

/** Without those that are for trying out: then what is below root is a plain workspace unless it says otherwise. */
const plainTypes: typeof builtInTypes = builtInTypes
  .filter(([name]) => name !== "organization" && name !== "team")
  .map(([name, spec]) => [name, { ...spec, defaultChildWorkspaceType: universal }]);
