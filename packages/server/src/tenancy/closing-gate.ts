/** Nothing new comes into a logical cluster that is being emptied. */
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import type { AdmissionPlugin } from "../admission/index.ts";
import type { ClosingClusters } from "./closing-clusters.ts";

export function closingGate(closing: ClosingClusters): AdmissionPlugin {
  return {
    name: "tenancy.kcp.io/LogicalClusterDeletion",
    admit({ operation, cluster, group, resource, name, namespace }) {
      if (operation !== "CREATE" || !closing.has(cluster)) return undefined;
      const { status } = statusError.forbidden(
        { group, resource },
        name,
        "unable to create new content in a logical cluster that is being deleted",
      );
      // Controllers know this cause, and stop trying.
      const causes = [
        {
          reason: "NamespaceTerminating",
          message: `namespace ${namespace} is being terminated`,
          field: "metadata.namespace",
        },
      ];
      throw new StatusError({ ...status, details: { ...status.details, causes } });
    },
  };
}
