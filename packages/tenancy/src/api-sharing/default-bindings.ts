/** The default APIBindings of a WorkspaceType: created before users can see the workspace. */
import { isJsonObject, type JsonObject, listOf, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  createIfAbsent,
  type DefaultBinding,
  member,
  tenancyAnnotation,
} from "../workspaces/index.ts";
import { bindingFinalizer, exportLabel } from "./binding-metadata.ts";
import { type ApiSharingDependencies, exportIn } from "./dependencies.ts";
import { claimJson, desiredBindingStatus, resolveExportPath } from "./desired-binding-status.ts";
import { isSameResource } from "./evaluate-claims.ts";
import { apiBindings } from "./kinds/definitions.ts";
import { base62Hash, exportHash } from "./kinds/hashes.ts";
import { type Claim, claimsOf, type ExportRecord } from "./records.ts";
import { isSystemExport } from "./system-exports.ts";

export async function createDefaultBindings(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  path: string,
  wanted: readonly DefaultBinding[],
): Promise<void> {
  const known = dependencies.bindings.inCluster(cluster)?.records;
  for (const one of wanted) {
    if (known?.has(defaultBindingName(cluster, one)) === true) continue;
    const exportCluster = await resolveExportPath(dependencies, cluster, one.path);
    // Omitted: a binding to a system export would be stored in every workspace, without an effect.
    if (isSystemExport(exportCluster, one.export)) continue;
    const found =
      exportCluster === undefined
        ? undefined
        : await exportIn(dependencies, exportCluster, one.export);
    const name = defaultBindingName(cluster, one);
    const binding = bindingObject(name, path, one, exportCluster, found);
    const { status } = await desiredBindingStatus(dependencies, cluster, binding);
    const address = { cluster, namespace: "", name };
    await createIfAbsent(dependencies, apiBindings, address, { ...binding, status });
  }
}

export function defaultBindingName(
  cluster: ClusterName,
  { path, export: name }: DefaultBinding,
): string {
  return `${name}-${base62Hash(`${cluster}|${path}|${name}`).toLowerCase().slice(0, 5)}`;
}

function bindingObject(
  name: string,
  workspacePath: string,
  wanted: DefaultBinding,
  exportCluster: ClusterName | undefined,
  exported: ExportRecord | undefined,
): JsonObject {
  const claims = (exported?.claims ?? []).map(asAccepted);
  return {
    metadata: {
      name,
      annotations: { [tenancyAnnotation.path]: workspacePath },
      finalizers: [bindingFinalizer],
      ...(exportCluster === undefined
        ? {}
        : { labels: { [exportLabel]: exportHash(exportCluster, wanted.export) } }),
    },
    spec: {
      reference: { export: { path: wanted.path, name: wanted.export } },
      ...(claims.length === 0 ? {} : { permissionClaims: claims }),
    },
  };
}

function asAccepted(claim: Claim): JsonObject {
  return { selector: { matchAll: true }, ...claimJson(claim, "selector"), state: "Accepted" };
}

/**
 * The claims of its export that a maintained binding has not decided yet, as accepted claims.
 * Decided claims stay: a rejection is a consumer's choice.
 */
export async function undecidedClaims(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  binding: JsonObject,
): Promise<readonly JsonObject[]> {
  const spec = member(binding, "spec");
  const { path, name } = member(member(spec, "reference"), "export");
  const wanted = { path: textOf(path), export: textOf(name) };
  const bindingName = textOf(member(binding, "metadata")["name"]);
  if (bindingName !== defaultBindingName(cluster, wanted)) return [];
  const exportCluster = await resolveExportPath(dependencies, cluster, wanted.path);
  const exported =
    exportCluster === undefined
      ? undefined
      : await exportIn(dependencies, exportCluster, wanted.export);
  const answered = claimsOf(spec["permissionClaims"], "selector");
  const missing = (exported?.claims ?? []).filter(
    (claim) => !answered.some((one) => isSameResource(one, claim)),
  );
  if (missing.length === 0) return [];
  const { bindings } = await dependencies.maintainedBindingsIn(cluster);
  const isKept = bindings.some((one) => one.path === wanted.path && one.export === wanted.export);
  return isKept ? missing.map(asAccepted) : [];
}

export function withClaims(binding: JsonObject, claims: readonly JsonObject[]): JsonObject {
  const spec = member(binding, "spec");
  const answered = listOf(spec["permissionClaims"]).filter(isJsonObject);
  return { ...binding, spec: { ...spec, permissionClaims: [...answered, ...claims] } };
}

/** Recreates a maintained default binding that was deleted. */
export async function restoreDefaultBinding(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  name: string,
): Promise<void> {
  const { path, bindings } = await dependencies.maintainedBindingsIn(cluster);
  const lost = bindings.filter((one) => defaultBindingName(cluster, one) === name);
  if (lost.length > 0) await createDefaultBindings(dependencies, cluster, path, lost);
}
