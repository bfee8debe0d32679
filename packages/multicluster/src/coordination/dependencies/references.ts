/**
 * The dependencies of a Pod template by name, in its own namespace: every object that a Pod needs
 * to start, and no more. A field that differs from Kubernetes' schema has no dependencies.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";

/**
 * The propagated resources. PersistentVolumeClaims are not propagated: claims of the same name in
 * two clusters have different data.
 */
export type DependencyResource =
  | "configmaps"
  | "secrets"
  | "serviceaccounts"
  | "poddisruptionbudgets";

/** A dependency, such as `secrets/token`. */
export type Reference = `${DependencyResource}/${string}`;

/** Objects that Kubernetes creates in every namespace of every cluster. */
export const clusterOwnedReferences: ReadonlySet<string> = new Set([
  "configmaps/kube-root-ca.crt",
  "serviceaccounts/default",
]);

export function podReferences(template: JsonObject | undefined): ReadonlySet<Reference> {
  const found = new Set<Reference>();
  const add = (resource: DependencyResource, name: JsonValue | undefined) => {
    const reference: Reference = `${resource}/${String(name)}`;
    if (typeof name === "string" && name !== "" && !clusterOwnedReferences.has(reference)) {
      found.add(reference);
    }
  };
  const spec = objectAt(template, "spec");
  if (spec === undefined) return found;
  add("serviceaccounts", at(spec, "serviceAccountName") ?? at(spec, "serviceAccount"));
  for (const one of listAt(spec, "imagePullSecrets")) add("secrets", at(one, "name"));
  for (const field of ["containers", "initContainers", "ephemeralContainers"]) {
    for (const container of listAt(spec, field)) addOfContainer(container, add);
  }
  for (const volume of listAt(spec, "volumes")) addOfVolume(volume, add);
  return found;
}

type Add = (resource: DependencyResource, name: JsonValue | undefined) => void;

function addOfContainer(container: JsonObject, add: Add): void {
  for (const one of listAt(container, "env")) {
    const from = objectAt(one, "valueFrom");
    add("configmaps", at(objectAt(from, "configMapKeyRef"), "name"));
    add("secrets", at(objectAt(from, "secretKeyRef"), "name"));
  }
  for (const one of listAt(container, "envFrom")) {
    add("configmaps", at(objectAt(one, "configMapRef"), "name"));
    add("secrets", at(objectAt(one, "secretRef"), "name"));
  }
}

function addOfVolume(volume: JsonObject, add: Add): void {
  add("configmaps", at(objectAt(volume, "configMap"), "name"));
  add("secrets", at(objectAt(volume, "secret"), "secretName"));
  for (const source of listAt(objectAt(volume, "projected"), "sources")) {
    add("configmaps", at(objectAt(source, "configMap"), "name"));
    add("secrets", at(objectAt(source, "secret"), "name"));
  }
  add("secrets", at(objectAt(objectAt(volume, "csi"), "nodePublishSecretRef"), "name"));
  add("secrets", at(objectAt(volume, "azureFile"), "secretName"));
  // In-tree volume drivers have their secret in a field of this name.
  for (const driver of Object.values(volume)) {
    if (isJsonObject(driver)) add("secrets", at(objectAt(driver, "secretRef"), "name"));
  }
}

/**
 * The imagePullSecrets of a ServiceAccount. Its tokens belong to the control plane, and are not
 * propagated.
 */
export function accountReferences(account: JsonObject): ReadonlySet<Reference> {
  const names = listAt(account, "imagePullSecrets").map((one) => at(one, "name"));
  return new Set(
    names.flatMap((name) => (typeof name === "string" ? [`secrets/${name}`] : [])) as Reference[],
  );
}

/** The TLS Secrets of an Ingress. */
export function ingressReferences(ingress: JsonObject): ReadonlySet<Reference> {
  const names = listAt(objectAt(ingress, "spec"), "tls").map((one) => at(one, "secretName"));
  return new Set(
    names.flatMap((name) => (typeof name === "string" ? [`secrets/${name}`] : [])) as Reference[],
  );
}

function at(object: JsonObject | undefined, field: string): JsonValue | undefined {
  return (object as Record<string, JsonValue | undefined> | undefined)?.[field];
}

function objectAt(object: JsonObject | undefined, field: string): JsonObject | undefined {
  const value = at(object, field);
  return value !== undefined && isJsonObject(value) ? value : undefined;
}

function listAt(object: JsonObject | undefined, field: string): readonly JsonObject[] {
  const value = at(object, field);
  return Array.isArray(value) ? (value as JsonValue[]).filter(isJsonObject) : [];
}
