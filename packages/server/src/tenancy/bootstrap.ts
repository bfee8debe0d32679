/**
 * What there is in `root` before anybody makes anything: its own LogicalCluster, the Shard that this server is, and the types of workspaces.
 *
 * Made when it is missing and left alone when it is not, so that what an administrator changed stays changed; only the addresses of the shard
 * follow the server.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
import { namespaces } from "../registry/index.ts";
import {
  logicalClusterName,
  logicalClusters,
  shards,
  systemWrite,
  workspaceTypes,
} from "./kinds/definitions.ts";
import { clusterScoped, ensureObject, type Parts, shardKey, systemWriteOptions } from "./parts.ts";
import { annotation, member } from "./records.ts";
import { makeRootRoles } from "./root-roles.ts";
import { shardName } from "./shard.ts";
import { typeStatus } from "./type-admission.ts";

/** True when the server is reached under another address than before. */
export async function bootstrapRoot(parts: Parts, externalUrl: string): Promise<boolean> {
  const inRoot = (name: string) => clusterScoped(rootCluster, name);
  const before = await parts.shardIndex.get(shardKey);
  if (before === undefined)
    await ensureObject(parts, shards, inRoot(shardName), shardObject(externalUrl));
  const isMoved = before !== undefined && before.externalUrl !== externalUrl;
  if (isMoved) await moveShard(parts, externalUrl);
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
  for (const [name, spec] of builtInTypes) {
    const metadata = { annotations: { [annotation.path]: rootCluster } };
    const status = typeStatus(externalUrl, rootCluster, name, parts.clock.now());
    await ensureObject(parts, workspaceTypes, inRoot(name), { metadata, spec, status });
  }
  await ensureObject(parts, namespaces, inRoot("default"), {});
  await makeRootRoles(parts);
  return isMoved;
}

function shardObject(url: string): JsonObject {
  return {
    metadata: { labels: { name: shardName } },
    spec: { baseURL: url, externalURL: url, virtualWorkspaceURL: url },
  };
}

/** The server may be reached under another address than last time. */
async function moveShard({ registry }: Parts, url: string): Promise<void> {
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
