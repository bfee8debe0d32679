/**
 * Exports of root whose kinds are served everywhere, bound or not (ADR 0052): a binding to one of them is bound and brings nothing, and their
 * identities are further names of what is built in.
 */
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { apiExports } from "./kinds/definitions.ts";
import { type ApiSharingDependencies, keyOf } from "./parts.ts";
import type { ExportRecord } from "./records.ts";

/** By the group of what they export. */
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

/** The export that has a built-in kind; undefined for kinds of no such export. */
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

/** What a built-in kind is claimed by besides nothing; undefined when there is no such identity. */
export function systemIdentity(
  parts: Pick<ApiSharingDependencies, "exports">,
  group: string,
  resource: string,
): string | undefined {
  return systemExportOf(parts, group, resource)?.identityHash || undefined;
}

/** Whether an identity means the built-in kind: none does, and that of its export. */
export function isBuiltInIdentity(
  parts: Pick<ApiSharingDependencies, "exports">,
  {
    group,
    resource,
    identityHash,
  }: {
    readonly group: string;
    readonly resource: string;
    readonly identityHash: string;
  },
): boolean {
  return identityHash === "" || systemIdentity(parts, group, resource) === identityHash;
}
