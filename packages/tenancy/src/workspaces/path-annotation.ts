/**
 * Admission of `kcp.io/path`, the path of an object's workspace for references by path: it is
 * enforced on kinds with such references, and on every other object that carries the annotation.
 */
import type { AdmissionPlugin, AdmissionRequest, MutableObject } from "@kcp-ts/apiserver/admission";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
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
    mutate(request, draft): MaybePromise<void> {
      if (request.subresource !== "" || isLogicalCluster(request)) return undefined;
      const annotations = annotationsOf(draft);
      const isWanted =
        request.group.endsWith("kcp.io") && referredTo.has(`${request.resource}.${request.group}`);
      const present = annotations?.[annotation.path];
      if (!isWanted && present === undefined) return undefined;
      const known = logicalClusterIndex.get(logicalClusterKey(request.cluster));
      if (known instanceof Promise)
        return known.then((record) => put(draft, record?.path, request.cluster));
      put(draft, known?.path, request.cluster);
      return undefined;
    },
  };
}

function isLogicalCluster({ group, resource }: AdmissionRequest): boolean {
  return resource === logicalClusters.resource && group === logicalClusters.group;
}

function annotationsOf(draft: MutableObject): JsonObject | undefined {
  const { metadata } = draft as { metadata?: { annotations?: JsonObject } };
  return metadata?.annotations;
}

function put(draft: MutableObject, path: string | undefined, cluster: ClusterName): void {
  const metadata = member(draft, "metadata");
  const annotations = { ...member(metadata, "annotations"), [annotation.path]: path ?? cluster };
  draft["metadata"] = { ...metadata, annotations };
}
