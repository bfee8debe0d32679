/** Rejects creates in a logical cluster that is being emptied. */
import type { AdmissionPlugin, AdmissionRequest } from "@kcp-ts/apiserver/admission";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { StatusError, statusError } from "@kcp-ts/machinery/status";

export function terminatingClusterAdmission(
  isClosing: (cluster: ClusterName) => MaybePromise<boolean>,
): AdmissionPlugin {
  return {
    name: "tenancy.kcp.io/LogicalClusterDeletion",
    admit(request) {
      if (request.operation !== "CREATE") return undefined;
      const closing = isClosing(request.cluster);
      if (closing instanceof Promise)
        return closing.then((is) => (is ? denyCreate(request) : undefined));
      return closing ? denyCreate(request) : undefined;
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
