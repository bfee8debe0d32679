/** Endpoints and the Services that they are of. */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { importedServiceLabel, sourceClusterLabel } from "./multicluster-services.ts";
import { isKcpKey } from "./names.ts";

/** On EndpointSlices in a cluster: the Service that they are of. */
export const serviceNameLabel = "kubernetes.io/service-name";

/**
 * Whether what is born in a cluster may carry the label upstream: not one by which the control plane speaks, and not one by which it tells the endpoints that it has put together
 * from those of a cluster.
 */
export function isCopyLabel(label: string): boolean {
  return !isKcpKey(label) && label !== importedServiceLabel && label !== sourceClusterLabel;
}

/** The Service that an object says it has the endpoints of; undefined for other kinds, and for what is of none. */
export function serviceNameOf(
  { group, resource }: { readonly group: string; readonly resource: string },
  { name, labels }: { readonly name: string; readonly labels?: StringMap | undefined },
): string | undefined {
  if (group === "" && resource === "endpoints") return name;
  if (group !== "discovery.k8s.io" || resource !== "endpointslices") return undefined;
  const service = stringMember(labels, serviceNameLabel) ?? "";
  return service === "" ? undefined : service;
}
