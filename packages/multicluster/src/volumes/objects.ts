/** Claims, volumes and workloads as this room reads them. Clusters define these types for themselves: what does not look right is read as nothing. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";

export interface StoredObject extends KubernetesObject {
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
}

export const persistentVolumeClaims = defineResource<StoredObject>({
  group: "",
  version: "v1",
  resource: "persistentvolumeclaims",
  kind: "PersistentVolumeClaim",
  namespaced: true,
});

export const persistentVolumes = defineResource<StoredObject>({
  group: "",
  version: "v1",
  resource: "persistentvolumes",
  kind: "PersistentVolume",
  namespaced: false,
});

const apps = { group: "apps", version: "v1", namespaced: true } as const;

/** Those whose Pods can be stopped by a number. */
export const workloadKinds: readonly Resource<StoredObject>[] = [
  defineResource({ ...apps, resource: "deployments", kind: "Deployment" }),
  defineResource({ ...apps, resource: "statefulsets", kind: "StatefulSet" }),
];

export function objectAt(value: JsonValue | undefined, name: string): JsonObject {
  const found = value !== undefined && isJsonObject(value) ? value[name] : undefined;
  return found !== undefined && isJsonObject(found) ? found : {};
}

export function textAt(value: JsonObject | undefined, name: string): string {
  const found = value?.[name];
  return typeof found === "string" ? found : "";
}

export function countAt(value: JsonObject | undefined, name: string, otherwise: number): number {
  const found = value?.[name];
  return typeof found === "number" && Number.isInteger(found) && found >= 0 ? found : otherwise;
}

export function textsAt(value: JsonObject | undefined, name: string): readonly string[] {
  const found = value?.[name];
  return Array.isArray(found)
    ? (found as readonly JsonValue[]).filter((one) => typeof one === "string")
    : [];
}

/** Of annotations, which are written by everybody. */
export const annotationCharactersMax = 16_384;
