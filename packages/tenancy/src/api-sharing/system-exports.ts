/**
 * Exports of root whose kinds are served everywhere, bound or not (ADR 0052): a binding to such an
 * export is bound and serves nothing, and the export's identity is another name of the built-in
 * kinds.
 */
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { type ApiSharingDependencies, keyOf } from "./dependencies.ts";
import { apiExports } from "./kinds/definitions.ts";
import type { ExportRecord } from "./records.ts";

/** Keyed by the group of the exported kinds. */
const exportOfGroup: ReadonlyMap<string, string> = new Map([
  ["tenancy.kcp.io", "tenancy.kcp.io"],
  ["topology.kcp.io", "topology.kcp.io"],
  ["core.kcp.io", "shards.core.kcp.io"],
  ["cache.kcp.io", "cache.kcp.io"],
]);
const names: ReadonlySet<string> = new Set(exportOfGroup.values());

export function isSystemExport(cluster: ClusterName | undefined, name: string): boolean {
  return cluster === rootCluster && names.has(name);
}

/** The export of a built-in kind; undefined for kinds without such an export. */
function systemExportOf(
  { exports }: Pick<ApiSharingDependencies, "exports">,
  group: string,
  resource: string,
): ExportRecord | undefined {
  const name = exportOfGroup.get(group);
  if (name === undefined) return undefined;
  const record = exports.get(keyOf(apiExports, rootCluster, name));
  const isOf = record?.resources.some((one) => one.resource === resource && one.group === group);
  return isOf === true ? record : undefined;
}

/**
 * The identity under which a built-in kind can be claimed in addition to the empty one; undefined
 * when there is none.
 */
export function systemIdentity(
  dependencies: Pick<ApiSharingDependencies, "exports">,
  group: string,
  resource: string,
): string | undefined {
  return systemExportOf(dependencies, group, resource)?.identityHash || undefined;
}

/** Whether an identity denotes the built-in kind: the empty one does, and that of its export. */
export function isBuiltInIdentity(
  dependencies: Pick<ApiSharingDependencies, "exports">,
  {
    group,
    resource,
    identityHash,
  }: { readonly group: string; readonly resource: string; readonly identityHash: string },
): boolean {
  return identityHash === "" || systemIdentity(dependencies, group, resource) === identityHash;
}
