/** Endpoints and the Services that they belong to. */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { importedServiceLabel, sourceClusterLabel } from "./multicluster-services.ts";
import { isKcpKey } from "./names.ts";

/** On EndpointSlices in a cluster: the Service that they belong to. */
export const serviceNameLabel = "kubernetes.io/service-name";

/**
 * Whether an object that was created in a cluster may have the label upstream: neither a label of
 * the control plane, nor a label that marks the EndpointSlices that the control plane has merged.
 */
export function isCopyLabel(label: string): boolean {
  return !isKcpKey(label) && label !== importedServiceLabel && label !== sourceClusterLabel;
}

/**
 * The Service that the object contains endpoints of; undefined for other kinds, and for endpoints
 * without a Service.
 */
export function serviceNameOf(
  { group, resource }: { readonly group: string; readonly resource: string },
  { name, labels }: { readonly name: string; readonly labels?: StringMap | undefined },
): string | undefined {
  if (group === "" && resource === "endpoints") return name;
  if (group !== "discovery.k8s.io" || resource !== "endpointslices") return undefined;
  const service = stringMember(labels, serviceNameLabel) ?? "";
  return service === "" ? undefined : service;
}
