/**
 * Admission of objects of all kinds: none is created in a logical cluster that is being emptied,
 * and `kcp.io/path`, the path of an object's workspace for references by path, is enforced on kinds
 * with such references, and on every other object that carries the annotation.
 */
import type { AdmissionPlugin, AdmissionRequest, MutableObject } from "@kcp-ts/apiserver/admission";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import { logicalClusterKey, type TenancyDependencies } from "./dependencies.ts";
import { logicalClusters } from "./kinds/definitions.ts";
import { annotation, member } from "./records.ts";

interface TerminatingClusterSource {
  isTerminating(cluster: ClusterName): Promise<boolean>;
}

export function terminatingClusterAdmission(clusters: TerminatingClusterSource): AdmissionPlugin {
  return {
    name: "tenancy.kcp.io/LogicalClusterDeletion",
    async admit(request) {
      const { operation, cluster } = request;
      if (operation === "CREATE" && (await clusters.isTerminating(cluster))) denyCreate(request);
    },
  };
}

function denyCreate({ group, resource, name, namespace }: AdmissionRequest): never {
  const { status } = statusError.forbidden(
    { group, resource },
    name,
    "unable to create new content in a logical cluster that is being deleted",
  );
  // Controllers recognize this cause, and stop retrying.
  const causes = [
    {
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace",
    },
  ];
  throw new StatusError({ ...status, details: { ...status.details, causes } });
}

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
