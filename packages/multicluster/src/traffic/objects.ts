/**
 * Services, EndpointSlices and workloads as traffic reads and writes them. Clusters define these
 * kinds themselves, so an object may have any content: invalid fields are read as absent.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";

export interface Service extends KubernetesObject {
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
}

export interface EndpointSlice extends KubernetesObject {
  readonly addressType: string;
  readonly endpoints?: readonly JsonObject[];
  readonly ports?: readonly JsonObject[];
}

export interface TemplatedObject extends KubernetesObject {
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
}

export const services = defineResource<Service>(kinds.services);

export const endpointSlices = defineResource<EndpointSlice>(kinds.endpointSlices);

export { serviceNameLabel } from "../api/index.ts";

export function memberObject(object: JsonObject | undefined, name: string): JsonObject {
  const value = object?.[name];
  return value !== undefined && isJsonObject(value) ? value : {};
}

export function memberText(object: JsonObject | undefined, name: string): string | undefined {
  const value = object?.[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function memberObjects(object: JsonObject | undefined, name: string): readonly JsonObject[] {
  const value = object?.[name];
  if (!Array.isArray(value)) return [];
  return (value as readonly JsonValue[]).filter((one) => isJsonObject(one)) as JsonObject[];
}

/** An endpoint without the condition is ready, as everywhere in Kubernetes. */
export function isReadyEndpoint(endpoint: JsonObject): boolean {
  return memberObject(endpoint, "conditions")["ready"] !== false;
}

export function endpointsOf(slice: Pick<EndpointSlice, "endpoints">): readonly JsonObject[] {
  return memberObjects(slice as unknown as JsonObject, "endpoints");
}

export function readyCount(slices: readonly Pick<EndpointSlice, "endpoints">[]): number {
  return slices.reduce((sum, one) => sum + endpointsOf(one).filter(isReadyEndpoint).length, 0);
}
