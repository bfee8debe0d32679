/** Rejects creates in a logical cluster that is being emptied. */
import type { AdmissionPlugin, AdmissionRequest } from "@kcp-ts/apiserver/admission";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { StatusError, statusError } from "@kcp-ts/machinery/status";

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
