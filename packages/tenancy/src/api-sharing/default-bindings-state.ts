/**
 * Whether the default bindings of a WorkspaceType are complete: before their creation, and after.
 */
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
import { type ApiSharingDependencies, exportIn, keyOf } from "./dependencies.ts";
import { resolveExportPath } from "./desired-binding-status.ts";
import { apiBindings } from "./kinds/definitions.ts";
import { claimsOf, type ExportRecord } from "./records.ts";
import { isSystemExport } from "./system-exports.ts";

/**
 * Whether the write that creates a new logical cluster binds all of these exports completely.
 * Permission claims are applied a moment later, so bindings with claims are waited for. Returns
 * without a promise when all exports are served everywhere, as for nearly every workspace.
 */
export async function areDefaultBindingsComplete(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  wanted: readonly DefaultBinding[],
): Promise<boolean> {
  const others = wanted.filter((one) => !isSystemExport(one.path as ClusterName, one.export));
  return others.length === 0 || areAllComplete(dependencies, cluster, others);
}

async function areAllComplete(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  wanted: readonly DefaultBinding[],
): Promise<boolean> {
  await dependencies.loading();
  const taken = new Set(dependencies.builtIns.map(nameOf));
  for (const one of wanted) {
    const record = await exportOf(dependencies, cluster, one);
    if (record === undefined || record.identityHash === "" || record.claims.length > 0)
      return false;
    if (isSystemExport(record.cluster, record.name)) continue;
    for (const resource of record.resources) {
      if (resource.virtual !== undefined || taken.has(nameOf(resource))) return false;
      taken.add(nameOf(resource));
      if (!(await dependencies.schemas.exists(record.cluster, resource.schema))) return false;
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
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  { path, export: name }: DefaultBinding,
): Promise<ExportRecord | undefined> {
  const found = await resolveExportPath(dependencies, cluster, path);
  return found === undefined ? undefined : exportIn(dependencies, found, name);
}

export async function defaultBindingsStateOf(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  wanted: readonly DefaultBinding[],
): Promise<DefaultBindingsState> {
  await dependencies.loading();
  const incomplete: string[] = [];
  let isExportMissing = false;
  for (const one of wanted) {
    const record = await exportOf(dependencies, cluster, one);
    if (record === undefined) isExportMissing = true;
    else if (!isSystemExport(record.cluster, record.name)) {
      const lacking = await missingReasonOf(dependencies, cluster, one);
      if (lacking !== undefined) incomplete.push(lacking);
    }
  }
  return { isExportMissing, incomplete };
}

/** The reason in the words of a condition; undefined when the binding is complete. */
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
