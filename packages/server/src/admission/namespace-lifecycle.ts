/**
 * Objects live in namespaces that exist and are not on their way out.
 *
 * Every logical cluster has a `default` namespace from the first write into it: so a cluster that nobody uses stores nothing.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

export interface NamespaceSource {
  phaseOf(
    cluster: ClusterName,
    name: string,
    signal: AbortSignal,
  ): Promise<"Active" | "Terminating" | undefined>;
  /** Makes the namespace unless somebody else did meanwhile. */
  create(cluster: ClusterName, name: string, signal: AbortSignal): Promise<void>;
}

export const defaultNamespace = "default";

export function namespaceLifecycle(namespaces: NamespaceSource): AdmissionPlugin {
  return {
    name: "NamespaceLifecycle",
    async admit(request) {
      if (request.operation !== "CREATE" || request.namespace === "" || isNamespace(request))
        return;
      const phase = await namespaces.phaseOf(request.cluster, request.namespace, request.signal);
      if (phase === "Active") return;
      if (phase === "Terminating") throw terminating(request);
      if (request.namespace !== defaultNamespace) {
        throw statusError.notFound({ group: "", resource: "namespaces" }, request.namespace);
      }
      if (request.isDryRun) return;
      await namespaces.create(request.cluster, request.namespace, request.signal);
    },
  };
}

function isNamespace({ group, resource }: AdmissionRequest): boolean {
  return group === "" && resource === "namespaces";
}

/** Helm and controllers look for the cause. */
function terminating({ group, resource, name, namespace }: AdmissionRequest): StatusError {
  const refused = statusError.forbidden(
    { group, resource },
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
  ).status;
  return new StatusError({
    ...refused,
    details: {
      ...refused.details,
      causes: [
        {
          reason: "NamespaceTerminating",
          message: `namespace ${namespace} is being terminated`,
          field: "metadata.namespace",
        },
      ],
    },
  });
}
