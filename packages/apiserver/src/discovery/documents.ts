/**
 * Builds the discovery documents, legacy and aggregated, from the definitions of a cluster. Pure;
 * the caller caches them.
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import {
  apiVersionOf,
  type ResourceDefinition,
  type SubresourceStrategy,
} from "../registry/index.ts";

export function apiVersions(serverAddress: string): JsonObject {
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

export function apiGroupList(definitions: readonly ResourceDefinition[]): JsonObject {
  const groups = groupsOf(definitions).filter((group) => group !== "");
  return {
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: groups.map((group) => groupEntry(definitions, group)),
  };
}

export function apiGroup(
  definitions: readonly ResourceDefinition[],
  group: string,
): JsonObject | undefined {
  if (!groupsOf(definitions).includes(group)) return undefined;
  return { kind: "APIGroup", apiVersion: "v1", ...groupEntry(definitions, group) };
}

export function apiResourceList(
  definitions: readonly ResourceDefinition[],
  group: string,
  version: string,
  entriesOf: (definition: ResourceDefinition) => readonly JsonObject[] = resourceEntries,
): JsonObject | undefined {
  const served = definitions.filter((each) => each.group === group && each.version === version);
  const first = served[0];
  if (first === undefined) return undefined;
  return {
    kind: "APIResourceList",
    ...(group === "" ? {} : { apiVersion: "v1" }),
    groupVersion: apiVersionOf(first),
    resources: served.flatMap((each) => entriesOf(each)),
  };
}

/** The aggregated form: all groups in two responses instead of one per group and version. */
export function groupDiscoveryList(
  definitions: readonly ResourceDefinition[],
  isCore: boolean,
): JsonObject {
  const groups = groupsOf(definitions).filter((group) => (group === "") === isCore);
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map((group) => ({
      metadata: { name: group, creationTimestamp: null },
      versions: versionsOf(definitions, group).map((version) => ({
        version,
        resources: definitions
          .filter((each) => each.group === group && each.version === version)
          .map(discoveryEntry),
        freshness: "Current",
      })),
    })),
  };
}

function groupsOf(definitions: readonly ResourceDefinition[]): string[] {
  return [...new Set(definitions.map(({ group }) => group))];
}

function versionsOf(definitions: readonly ResourceDefinition[], group: string): string[] {
  return [
    ...new Set(definitions.filter((each) => each.group === group).map(({ version }) => version)),
  ];
}

function groupEntry(definitions: readonly ResourceDefinition[], group: string): JsonObject {
  const versions = versionsOf(definitions, group).map((version) => ({
    groupVersion: apiVersionOf({ group, version }),
    version,
  }));
  return { name: group, versions, preferredVersion: versions[0] as JsonValue };
}

function resourceEntries(definition: ResourceDefinition): JsonObject[] {
  const {
    resource,
    singular,
    isNamespaced: namespaced,
    kind,
    verbs,
    shortNames,
    categories,
  } = definition;
  const main: JsonObject = {
    name: resource,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(definition.isReview === true ? {} : { storageVersionHash: storageVersionHash(definition) }),
  };
  const subresources = [...definition.subresources].map(([name, subresource]) => ({
    name: `${resource}/${name}`,
    singularName: "",
    namespaced,
    kind,
    ...viewOf(subresource),
    verbs: subresource.verbs,
  }));
  return [main, ...subresources];
}

/** Empty means the group and version of the parent entry. */
const sameAsParent = { group: "", version: "" };

function discoveryEntry(definition: ResourceDefinition): JsonObject {
  const { kind, resource, singular, isNamespaced, verbs, shortNames, categories } = definition;
  const { group, version } = definition.itemsCarryKind ? definition : sameAsParent;
  const responseKind = { group, version, kind };
  const subresources = [...definition.subresources].map(([name, subresource]) => ({
    subresource: name,
    responseKind: { ...responseKind, ...viewOf(subresource) },
    verbs: subresource.verbs,
  }));
  return {
    resource,
    responseKind,
    scope: isNamespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** Only set for subresources whose kind is of another group. */
function viewOf({ view, action }: SubresourceStrategy): JsonObject {
  const shown = view ?? action;
  return shown === undefined
    ? {}
    : { group: shown.group, version: shown.version, kind: shown.kind };
}

function storageVersionHash({ group, version, storageVersion, kind }: ResourceDefinition): string {
  return createHash("sha256")
    .update(`${group}/${storageVersion ?? version}/${kind}`)
    .digest()
    .subarray(0, 8)
    .toString("base64");
}
