/** Whether the bindings that a type asks for are complete: before they are made, and after. */

import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type DefaultBinding,
  type DefaultBindingsState,
  findCondition,
  member,
  uncancelled,
} from "../workspaces/index.ts";
import { defaultBindingName } from "./default-bindings.ts";
import { apiBindings, apiExports } from "./kinds/definitions.ts";
import { type ApiSharingDependencies, keyOf } from "./parts.ts";
import { claimsOf, type ExportRecord } from "./records.ts";
import { resolveExportPath } from "./settle-binding.ts";
import { isSystemExport } from "./system-exports.ts";

/**
 * Whether a new logical cluster is bound to all of these by the write that makes them. Claims are put into effect a moment later, so they are waited
 * for. Without a promise where there is nothing but what is served everywhere: that is nearly every workspace.
 */
export function areDefaultBindingsComplete(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  wanted: readonly DefaultBinding[],
): MaybePromise<boolean> {
  const others = wanted.filter((one) => !isSystemExport(one.path as ClusterName, one.export));
  return others.length === 0 || areAllComplete(parts, cluster, others);
}

async function areAllComplete(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  wanted: readonly DefaultBinding[],
): Promise<boolean> {
  await parts.loading();
  const taken = new Set(parts.builtIns.map(nameOf));
  for (const one of wanted) {
    const record = await exportOf(parts, cluster, one);
    if (record === undefined || record.identityHash === "" || record.claims.length > 0)
      return false;
    if (isSystemExport(record.cluster, record.name)) continue;
    for (const resource of record.resources) {
      if (resource.virtual !== undefined || taken.has(nameOf(resource))) return false;
      taken.add(nameOf(resource));
      if (!(await parts.schemas.isThere(record.cluster, resource.schema))) return false;
    }
  }
  return true;
}

function nameOf({
  group,
  resource,
}: {
  readonly group: string;
  readonly resource: string;
}): string {
  return `${resource}.${group}`;
}

async function exportOf(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  { path, export: name }: DefaultBinding,
): Promise<ExportRecord | undefined> {
  const found = await resolveExportPath(parts, cluster, path);
  return found === undefined ? undefined : parts.exports.get(keyOf(apiExports, found, name));
}

export async function defaultBindingsStateOf(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  wanted: readonly DefaultBinding[],
): Promise<DefaultBindingsState> {
  await parts.loading();
  const incomplete: string[] = [];
  let isExportMissing = false;
  for (const one of wanted) {
    const record = await exportOf(parts, cluster, one);
    if (record === undefined) isExportMissing = true;
    else if (!isSystemExport(record.cluster, record.name)) {
      const lacking = await missingReasonOf(parts, cluster, one);
      if (lacking !== undefined) incomplete.push(lacking);
    }
  }
  return { isExportMissing, incomplete };
}

/** In the words of a condition; undefined when nothing is lacking. */
async function missingReasonOf(
  { watchCache }: ApiSharingDependencies,
  cluster: ClusterName,
  one: DefaultBinding,
): Promise<string | undefined> {
  const name = defaultBindingName(cluster, one);
  const key = keyOf(apiBindings, cluster, name);
  const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
  if (entry === undefined) return `for APIExport ${one.path}|${one.export}`;
  const binding = decodeObject(entry);
  const status = member(binding, "status");
  const isTrue = (type: string) => findCondition(status, type)?.["status"] === "True";
  if (!isTrue("InitialBindingCompleted")) return name;
  const claims = claimsOf(member(binding, "spec")["permissionClaims"], "selector");
  const hasAccepted = claims.some(({ state }) => state === "Accepted");
  return hasAccepted && !isTrue("PermissionClaimsApplied")
    ? `${name} waiting for permission claims to be applied`
    : undefined;
}
