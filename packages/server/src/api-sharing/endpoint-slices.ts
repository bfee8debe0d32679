/** Where an export's provider finds the objects of its consumers: listed as long as there is at least one. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { apiVersionOf } from "../registry/index.ts";
import type { Entry } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import { type Condition, conditionsOf, member, setCondition } from "../tenancy/index.ts";
import { textOf } from "./kinds/as-definition.ts";
import { apiExports } from "./kinds/definitions.ts";
import { keyOf, type SharingParts } from "./parts.ts";
import { resolveExportPath } from "./settle-binding.ts";

/** On an export: no slice is made for it. */
export const skipSliceAnnotation = "apiexports.apis.kcp.io/skip-endpointslice";

export function endpointUrl(externalUrl: string, cluster: ClusterName, name: string): string {
  return `${externalUrl}/services/apiexport/${cluster}/${name}`;
}

/** The slice that comes with an export. */
export function endpointSlice(exported: JsonObject): JsonObject {
  const metadata = member(exported, "metadata");
  const [name, uid] = [textOf(metadata["name"]), textOf(metadata["uid"])];
  const path = textOf(member(metadata, "annotations")["kcp.io/path"]);
  const { kind } = apiExports;
  return {
    metadata: {
      ownerReferences: [{ apiVersion: apiVersionOf(apiExports), kind, name, uid }],
    },
    spec: { export: { name, ...(path === "" ? {} : { path }) } },
  };
}

/** The name of the export that a stored slice is of. */
export function exportOfSlice(entry: Entry): string {
  return textOf(member(member(decodeObject(entry), "spec"), "export")["name"] ?? null);
}

export async function endpointStatus(
  parts: SharingParts,
  cluster: ClusterName,
  slice: JsonObject,
  externalUrl: string,
): Promise<JsonObject> {
  const before = member(slice, "status");
  const { path, name } = member(member(slice, "spec"), "export");
  const exportCluster = await resolveExportPath(parts, cluster, textOf(path));
  const record =
    exportCluster === undefined
      ? undefined
      : parts.exports.get(keyOf(apiExports, exportCluster, textOf(name)));
  const valid: Condition =
    record === undefined
      ? {
          type: "APIExportValid",
          status: "False",
          severity: "Error",
          reason: "APIExportNotFound",
          message: `APIExport ${textOf(path) || cluster}:${textOf(name)} not found`,
        }
      : { type: "APIExportValid", status: "True" };
  const isUsed = record !== undefined && parts.bindings.hasBindingsTo(record.cluster, record.name);
  const nowMs = parts.clock.now();
  const conditions = setCondition(conditionsOf(before), valid, nowMs);
  return {
    ...before,
    endpoints: isUsed ? [{ url: endpointUrl(externalUrl, record.cluster, record.name) }] : [],
    conditions: setCondition(conditions, { type: "PartitionValid", status: "True" }, nowMs),
  };
}
