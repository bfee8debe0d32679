/** Bindings that a workspace has from the beginning, because its type says so: made before anybody can see the workspace. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { createUnlessThere, type DefaultBinding, tenancyAnnotation } from "../tenancy/index.ts";
import { apiBindings, apiExports } from "./kinds/definitions.ts";
import { base62Hash, exportHash } from "./kinds/hashes.ts";
import { bindingFinalizer, exportLabel } from "./marks.ts";
import { keyOf, type SharingParts } from "./parts.ts";
import type { ExportRecord } from "./records.ts";
import { claimJson, resolveExportPath, settleBinding } from "./settle-binding.ts";

/** What upstream serves by bindings to these and we serve everywhere. */
const builtInExports: ReadonlySet<string> = new Set([
  "root:tenancy.kcp.io",
  "root:topology.kcp.io",
]);

export async function bindDefaults(
  parts: SharingParts,
  cluster: ClusterName,
  path: string,
  wanted: readonly DefaultBinding[],
): Promise<void> {
  for (const one of wanted) {
    const exportCluster = await resolveExportPath(parts, cluster, one.path);
    const found =
      exportCluster === undefined
        ? undefined
        : parts.exports.get(keyOf(apiExports, exportCluster, one.export));
    if (found === undefined && builtInExports.has(`${one.path}:${one.export}`)) continue;
    const name = defaultBindingName(cluster, one);
    const binding = bindingObject(name, path, one, exportCluster, found);
    const { status } = await settleBinding(parts, cluster, binding);
    const address = { cluster, namespace: "", name };
    await createUnlessThere(parts, apiBindings, address, { ...binding, status });
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
  const claims = (exported?.claims ?? []).map((claim) => ({
    selector: { matchAll: true },
    ...claimJson(claim, "selector"),
    state: "Accepted",
  }));
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
