/**
 * Rejects definitions that are reserved for the system: API groups and annotations of CRDs below
 * `apis.kcp.io`. The annotation `kcp.io/cluster` needs no check: the server ignores a client's
 * value.
 */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { aggregate } from "@kcp-ts/machinery/status";
import { type AdmissionPlugin, denied } from "./admission.ts";

const reservedDomain = "apis.kcp.io";
/** The logical cluster with the system's own definitions. */
const systemCluster = "system:system-crds";
/**
 * The logical cluster with the definitions that APIBindings have brought into tenants' clusters.
 */
const boundCluster = "system:bound-crds";

export const reservedDefinitions: AdmissionPlugin = {
  name: "ReservedDefinitions",
  resources: [{ group: "apiextensions.k8s.io", resource: "customresourcedefinitions" }],
  handles: ({ operation }) => operation === "CREATE" || operation === "UPDATE",
  validate(request, object) {
    const { group } = object["spec"] as JsonObject;
    if (isReserved(String(group)) && request.cluster !== systemCluster)
      throw denied(request, `${String(group)} is a reserved group`);
    if (request.cluster === boundCluster) return;
    const reserved = annotationsOf(object).filter((key) => isReserved(key.split("/")[0] ?? ""));
    if (reserved.length > 0)
      throw denied(request, aggregate(reserved.map((key) => `${key} is a reserved annotation`)));
  },
};

function isReserved(domain: string): boolean {
  return domain === reservedDomain || domain.endsWith(`.${reservedDomain}`);
}

function annotationsOf({ metadata }: JsonObject): readonly string[] {
  const annotations = isJsonObject(metadata) ? metadata["annotations"] : undefined;
  return isJsonObject(annotations) ? Object.keys(annotations) : [];
}
