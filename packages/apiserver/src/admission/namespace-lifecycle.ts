/**
 * NamespaceLifecycle: objects are only created in namespaces that exist and are not terminating.
 *
 * Every logical cluster has a `default` namespace from the first write into it on: an unused
 * cluster stores nothing.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

export interface NamespaceSource {
  phaseOf(
    cluster: ClusterName,
    name: string,
    signal: () => AbortSignal,
  ): Promise<NamespacePhase | undefined>;
  /** Creates the namespace unless it exists meanwhile. */
  create(cluster: ClusterName, name: string, signal: AbortSignal): Promise<void>;
}

export type NamespacePhase = "Active" | "Terminating";

export const defaultNamespace = "default";

export function namespaceLifecycle(namespaces: NamespaceSource): AdmissionPlugin {
  return {
    name: "NamespaceLifecycle",
    async admit(request) {
      const { operation, group, resource, cluster, namespace } = request;
      if (operation !== "CREATE" || namespace === "") return;
      if (resource === "namespaces" && group === "") return;
      const phase = await namespaces.phaseOf(cluster, namespace, () => request.signal);
      if (phase === "Active") return;
      if (phase === "Terminating") throw namespaceTerminating(request);
      if (namespace !== defaultNamespace)
        throw statusError.notFound({ group: "", resource: "namespaces" }, namespace);
      if (!request.isDryRun) await namespaces.create(cluster, namespace, request.signal);
    },
  };
}

/** The error for a terminating namespace; Helm and controllers look for its cause. */
export function namespaceTerminating({
  group,
  resource,
  name,
  namespace,
}: Pick<AdmissionRequest, "group" | "resource" | "name" | "namespace">): StatusError {
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
