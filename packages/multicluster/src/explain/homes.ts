/** Workspaces whose clusters another one uses, and a fleet with what it has of them. */
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
import type { WorkspaceSnapshot } from "./fleet.ts";

export interface ComputeWorkspace {
  readonly cluster: ClusterName;
  /** What bindings call it. */
  readonly paths: readonly string[];
  /** By the names that they have there. */
  readonly targets: readonly SyncTarget[];
  readonly locations: readonly Location[];
  readonly offer: ComputeExport;
}

interface Call {
  readonly signal?: AbortSignal;
}

/** By names and paths. */
export function computeWorkspaceNames(
  homes: readonly ComputeWorkspace[],
): ReadonlyMap<string, ClusterName> {
  return new Map(
    homes.flatMap(({ cluster, paths }) =>
      [cluster, ...paths].map((name) => [name, cluster] as const),
    ),
  );
}

/** Of its own, what has not said what it takes takes nothing: who has clusters from several sides must know. */
export function withComputeWorkspaces(
  own: WorkspaceSnapshot,
  homes: readonly ComputeWorkspace[],
): WorkspaceSnapshot {
  if (homes.length === 0) return own;
  const named = own.targets.map((target) =>
    target.status?.syncedResources !== undefined
      ? target
      : { ...target, status: { ...target.status, syncedResources: [] } },
  );
  const shared = homes.flatMap(({ cluster, targets, offer }) =>
    targets.map((target) => sharedTargetOf(target, cluster, offer)),
  );
  return { ...own, targets: [...named, ...shared], homes };
}

/** Those that a workspace is bound to. `client` is the server's, and may read everywhere. */
export async function readComputeWorkspaces(
  client: Client,
  cluster: ClusterName,
  call: Call,
): Promise<readonly ComputeWorkspace[]> {
  const { items } = await client.inCluster(cluster).resource(apiBindings).list(call);
  const paths = new Map<ClusterName, Set<string>>();
  for (const { spec, status } of items) {
    const { path = "", name } = spec?.reference?.export ?? {};
    const home = parseClusterName(status?.apiExportClusterName ?? "");
    if (name !== computeExportName || status?.phase !== "Bound") continue;
    if (home === undefined || home === cluster) continue;
    paths.set(home, (paths.get(home) ?? new Set()).add(path));
  }
  const homes = await Promise.all(
    [...paths].map(([home, names]) => readComputeWorkspace(client, home, [...names], call)),
  );
  return homes.filter((home) => home !== undefined);
}

/** Undefined where nothing is offered. */
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
  const offer = offered && computeExportOf(offered);
  if (offer?.isOpen !== true) return undefined;
  return { cluster, paths, offer, targets: targets.items, locations: located.items };
}

/** Who is bound to what a workspace offers, in the order of their names. */
export async function readTenants(
  client: Client,
  home: ClusterName,
  call: Call,
): Promise<readonly ClusterName[]> {
  const tenants = new Set<ClusterName>();
  const view = client.withBasePath(consumersPath(home)).inCluster("*");
  for await (const { items } of view.resource(apiBindings).pages(call))
    for (const binding of items) {
      const tenant = clusterOf(binding);
      if (tenant !== undefined && tenant !== home && binding.status?.phase === "Bound")
        tenants.add(tenant);
    }
  return [...tenants].sort();
}
