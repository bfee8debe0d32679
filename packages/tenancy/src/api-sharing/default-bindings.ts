/** Bindings that a workspace has from the beginning, because its type says so: made before anybody can see the workspace. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  createIfAbsent,
  type DefaultBinding,
  member,
  tenancyAnnotation,
} from "../workspaces/index.ts";
import { isSameResource } from "./judge-claims.ts";
import { listOf, textOf } from "./kinds/as-definition.ts";
import { apiBindings, apiExports } from "./kinds/definitions.ts";
import { base62Hash, exportHash } from "./kinds/hashes.ts";
import { bindingFinalizer, exportLabel } from "./marks.ts";
import { type ApiSharingDependencies, keyOf } from "./parts.ts";
import { type Claim, claimsOf, type ExportRecord } from "./records.ts";
import { claimJson, desiredBindingStatus, resolveExportPath } from "./settle-binding.ts";
import { isSystemExport } from "./system-exports.ts";

export async function createDefaultBindings(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  path: string,
  wanted: readonly DefaultBinding[],
): Promise<void> {
  const known = parts.bindings.in(cluster)?.records;
  for (const one of wanted) {
    if (known?.has(defaultBindingName(cluster, one)) === true) continue;
    const exportCluster = await resolveExportPath(parts, cluster, one.path);
    // Done without: it would be stored in every workspace, and bring nothing.
    if (isSystemExport(exportCluster, one.export)) continue;
    const found =
      exportCluster === undefined
        ? undefined
        : parts.exports.get(keyOf(apiExports, exportCluster, one.export));
    const name = defaultBindingName(cluster, one);
    const binding = bindingObject(name, path, one, exportCluster, found);
    const { status } = await desiredBindingStatus(parts, cluster, binding);
    const address = { cluster, namespace: "", name };
    await createIfAbsent(parts, apiBindings, address, { ...binding, status });
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
  return {
    selector: { matchAll: true },
    ...claimJson(claim, "selector"),
    state: "Accepted",
  };
}

/**
 * What a binding that is kept by its workspace's type has not answered yet of what its export claims, agreed to. What was answered stays: whoever
 * rejects a claim means it.
 */
export async function undecidedClaims(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  binding: JsonObject,
): Promise<readonly JsonObject[]> {
  const spec = member(binding, "spec");
  const { path, name } = member(member(spec, "reference"), "export");
  const wanted = { path: textOf(path), export: textOf(name) };
  const bindingName = textOf(member(binding, "metadata")["name"]);
  if (bindingName !== defaultBindingName(cluster, wanted)) return [];
  const exportCluster = await resolveExportPath(parts, cluster, wanted.path);
  const exported =
    exportCluster === undefined
      ? undefined
      : parts.exports.get(keyOf(apiExports, exportCluster, wanted.export));
  const answered = claimsOf(spec["permissionClaims"], "selector");
  const missing = (exported?.claims ?? []).filter(
    (claim) => !answered.some((one) => isSameResource(one, claim)),
  );
  if (missing.length === 0) return [];
  const { bindings } = await parts.maintainedIn(cluster);
  const isKept = bindings.some((one) => one.path === wanted.path && one.export === wanted.export);
  return isKept ? missing.map(asAccepted) : [];
}

export function withClaims(binding: JsonObject, claims: readonly JsonObject[]): JsonObject {
  const spec = member(binding, "spec");
  const answered = listOf(spec["permissionClaims"]).filter(isJsonObject);
  return { ...binding, spec: { ...spec, permissionClaims: [...answered, ...claims] } };
}

/** A binding that a workspace keeps is gone: it comes back. */
export async function restoreDefaultBinding(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  name: string,
): Promise<void> {
  const { path, bindings } = await parts.maintainedIn(cluster);
  const lost = bindings.filter((one) => defaultBindingName(cluster, one) === name);
  if (lost.length > 0) await createDefaultBindings(parts, cluster, path, lost);
}
