/**
 * Compute workspaces whose clusters a workspace uses, and the workspace snapshot with their
 * clusters.
 */
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import { type Client, clusterOf } from "@kcp-ts/sdk";
import { type Location, locations, type SyncTarget, syncTargets } from "../api/index.ts";
import {
  apiBindings,
  apiExports,
  type ComputeExport,
  computeExportName,
  computeExportOf,
  consumersPath,
  sharedTargetOf,
} from "../compute/index.ts";
import type { WorkspaceSnapshot } from "./workspace-snapshot.ts";

export interface ComputeWorkspace {
  readonly cluster: ClusterName;
  /** The paths of the compute workspace in bindings. */
  readonly paths: readonly string[];
  /** The SyncTargets, by their names in the compute workspace. */
  readonly targets: readonly SyncTarget[];
  readonly locations: readonly Location[];
  readonly computeExport: ComputeExport;
}

interface Call {
  readonly signal?: AbortSignal;
}

/** The compute workspaces by names and paths. */
export function computeWorkspaceNames(
  computeWorkspaces: readonly ComputeWorkspace[],
): ReadonlyMap<string, ClusterName> {
  return new Map(
    computeWorkspaces.flatMap(({ cluster, paths }) =>
      [cluster, ...paths].map((name) => [name, cluster] as const),
    ),
  );
}

/**
 * The snapshot with the shared clusters. An own SyncTarget without a list of synced resources gets
 * nothing: a workspace with clusters from several workspaces needs that list.
 */
export function withComputeWorkspaces(
  own: WorkspaceSnapshot,
  computeWorkspaces: readonly ComputeWorkspace[],
): WorkspaceSnapshot {
  if (computeWorkspaces.length === 0) return own;
  const named = own.targets.map((target) =>
    target.status?.syncedResources !== undefined
      ? target
      : { ...target, status: { ...target.status, syncedResources: [] } },
  );
  const shared = computeWorkspaces.flatMap(({ cluster, targets, computeExport }) =>
    targets.map((target) => sharedTargetOf(target, cluster, computeExport)),
  );
  return { ...own, targets: [...named, ...shared], computeWorkspaces };
}

/**
 * The compute workspaces that a workspace is bound to. `client` belongs to the server, and may read
 * every workspace.
 */
export async function readComputeWorkspaces(
  client: Client,
  cluster: ClusterName,
  call: Call,
): Promise<readonly ComputeWorkspace[]> {
  const { items } = await client.inCluster(cluster).resource(apiBindings).list(call);
  const paths = new Map<ClusterName, Set<string>>();
  for (const { spec, status } of items) {
    const { path = "", name } = spec?.reference?.export ?? {};
    const computeWorkspace = parseClusterName(status?.apiExportClusterName ?? "");
    if (name !== computeExportName || status?.phase !== "Bound") continue;
    if (computeWorkspace === undefined || computeWorkspace === cluster) continue;
    paths.set(computeWorkspace, (paths.get(computeWorkspace) ?? new Set()).add(path));
  }
  const computeWorkspaces = await Promise.all(
    [...paths].map(([computeWorkspace, names]) =>
      readComputeWorkspace(client, computeWorkspace, [...names], call),
    ),
  );
  return computeWorkspaces.filter((computeWorkspace) => computeWorkspace !== undefined);
}

/** The compute workspace; undefined without a compute export. */
export async function readComputeWorkspace(
  client: Client,
  cluster: ClusterName,
  paths: readonly string[],
  call: Call,
): Promise<ComputeWorkspace | undefined> {
  const there = client.inCluster(cluster);
  const [offered, targets, located] = await Promise.all([
    there.resource(apiExports).find({ name: computeExportName }, call),
    there.resource(syncTargets).list(call),
    there.resource(locations).list(call),
  ]);
  const computeExport = offered && computeExportOf(offered);
  if (computeExport?.isShared !== true) return undefined;
  return { cluster, paths, computeExport, targets: targets.items, locations: located.items };
}

/** The workspaces that are bound to a compute export, sorted by name. */
export async function readTenants(
  client: Client,
  computeWorkspace: ClusterName,
  call: Call,
): Promise<readonly ClusterName[]> {
  const tenants = new Set<ClusterName>();
  const view = client.withBasePath(consumersPath(computeWorkspace)).inCluster("*");
  for await (const { items } of view.resource(apiBindings).pages(call))
    for (const binding of items) {
      const tenant = clusterOf(binding);
      if (tenant !== undefined && tenant !== computeWorkspace && binding.status?.phase === "Bound")
        tenants.add(tenant);
    }
  return [...tenants].sort();
}
