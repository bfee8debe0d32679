/** Aggregated discovery (apidiscovery.k8s.io/v2 and v2beta1): all groups in two documents. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { ApiGroup, ApiResource, ApiVersion, Subresource } from "./api-resource.ts";

export const aggregatedAccept = [
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
  "application/json",
].join(",");

/** Only the content type distinguishes the two kinds of documents. */
export function isAggregated(contentType: string | undefined): boolean {
  return contentType?.includes("as=APIGroupDiscoveryList") ?? false;
}

export function readAggregated(document: JsonValue): ApiGroup[] {
  return objects(document, "items").map((group) => {
    const name = text(isJsonObject(group["metadata"]) ? group["metadata"] : {}, "name");
    return { name, versions: objects(group, "versions").map((one) => readVersion(name, one)) };
  });
}

function readVersion(group: string, document: JsonObject): ApiVersion {
  const version = text(document, "version");
  const resources: ApiResource[] = [];
  for (const one of objects(document, "resources")) {
    const kind = kindOf(one);
    // A resource without a kind cannot be decoded; Go clients leave it out, too.
    if (kind === "") continue;
    resources.push({
      group,
      version,
      resource: text(one, "resource"),
      kind,
      namespaced: one["scope"] === "Namespaced",
      singular: text(one, "singularResource"),
      verbs: texts(one, "verbs"),
      shortNames: texts(one, "shortNames"),
      categories: texts(one, "categories"),
      subresources: readSubresources(one),
    });
  }
  return { version, isStale: document["freshness"] === "Stale", resources };
}

function readSubresources(resource: JsonObject): Subresource[] {
  return objects(resource, "subresources")
    .map((one) => ({
      name: text(one, "subresource"),
      kind: kindOf(one),
      verbs: texts(one, "verbs"),
    }))
    .filter(({ kind }) => kind !== "");
}

function kindOf(document: JsonObject): string {
  const kind = document["responseKind"];
  return isJsonObject(kind) ? text(kind, "kind") : "";
}

export function text(document: JsonObject, name: string): string {
  const value = document[name];
  return typeof value === "string" ? value : "";
}

export function texts(document: JsonObject, name: string): string[] {
  const value = document[name];
  if (!Array.isArray(value)) return [];
  return (value as readonly unknown[]).filter((item): item is string => typeof item === "string");
}

export function objects(document: JsonValue, name: string): JsonObject[] {
  const value = isJsonObject(document) ? document[name] : undefined;
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isJsonObject) : [];
}
