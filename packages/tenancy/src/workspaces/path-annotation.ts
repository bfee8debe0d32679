/**
 * Admission of `kcp.io/path`, the path of an object's workspace for references by path: it is
 * enforced on kinds with such references, and on every other object that carries the annotation.
 */
import type { AdmissionPlugin, MutableObject } from "@kcp-ts/apiserver/admission";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { logicalClusterKey, type TenancyDependencies } from "./dependencies.ts";
import { logicalClusters } from "./kinds/definitions.ts";
import { annotation, member } from "./records.ts";

/** Plural and group of the kinds that always have the annotation. */
const referredTo: ReadonlySet<string> = new Set([
  "apiexports.apis.kcp.io",
  "apibindings.apis.kcp.io",
  "cachedresources.cache.kcp.io",
  "workspacetypes.tenancy.kcp.io",
]);

export function pathAnnotation({
  logicalClusterIndex,
}: Pick<TenancyDependencies, "logicalClusterIndex">): AdmissionPlugin {
  return {
    name: "kcp.io/PathAnnotation",
    async mutate({ group, resource, subresource, cluster }, draft) {
      if (subresource !== "") return;
      if (resource === logicalClusters.resource && group === logicalClusters.group) return;
      const { metadata } = draft as { metadata?: { annotations?: JsonObject } };
      const isPresent = metadata?.annotations?.[annotation.path] !== undefined;
      if (!isPresent && !(group.endsWith("kcp.io") && referredTo.has(`${resource}.${group}`)))
        return;
      const record = await logicalClusterIndex.get(logicalClusterKey(cluster));
      put(draft, record?.path, cluster);
    },
  };
}

function put(draft: MutableObject, path: string | undefined, cluster: ClusterName): void {
  const metadata = member(draft, "metadata");
  const annotations = { ...member(metadata, "annotations"), [annotation.path]: path ?? cluster };
  draft["metadata"] = { ...metadata, annotations };
}
