/**
 * Builds the discovery documents, legacy and aggregated, from the definitions of a cluster. Pure;
 * the caller caches them. A cluster can have thousands of kinds: documents of all of them are
 * built in steps, each definition in one.
 */
import { createHash } from "node:crypto";
import { type Resumable, YieldCounter } from "@kcp-ts/machinery/base";
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

export function* apiGroupList(definitions: readonly ResourceDefinition[]): Resumable<JsonObject> {
  const groups: JsonObject[] = [];
  for (const [group, versions] of yield* byGroup(definitions)) {
    if (group === "") continue;
    yield;
    groups.push(groupEntry(group, [...versions.keys()]));
  }
  return { kind: "APIGroupList", apiVersion: "v1", groups };
}

export function apiGroup(
  definitions: readonly ResourceDefinition[],
  group: string,
): JsonObject | undefined {
  const versions = new Set<string>();
  for (const each of definitions) if (each.group === group) versions.add(each.version);
  if (versions.size === 0) return undefined;
  return { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group, [...versions]) };
}

export function* apiResourceList(
  definitions: readonly ResourceDefinition[],
  group: string,
  version: string,
  entriesOf: (definition: ResourceDefinition) => readonly JsonObject[] = resourceEntries,
): Resumable<JsonObject | undefined> {
  const served = definitions.filter((each) => each.group === group && each.version === version);
  const first = served[0];
  if (first === undefined) return undefined;
  const pace = new YieldCounter(stepEntries);
  const resources: JsonObject[] = [];
  for (const each of served) {
    if (pace.isTime()) yield;
    resources.push(...entriesOf(each));
  }
  return {
    kind: "APIResourceList",
    ...(group === "" ? {} : { apiVersion: "v1" }),
    groupVersion: apiVersionOf(first),
    resources,
  };
}

/** The aggregated form: all groups in two responses instead of one per group and version. */
export function* groupDiscoveryList(
  definitions: readonly ResourceDefinition[],
  isCore: boolean,
): Resumable<JsonObject> {
  const pace = new YieldCounter(stepEntries);
  const items: JsonObject[] = [];
  for (const [group, versions] of yield* byGroup(definitions)) {
    if ((group === "") !== isCore) continue;
    const entries: JsonObject[] = [];
    for (const [version, served] of versions) {
      const resources: JsonObject[] = [];
      for (const each of served) {
        if (pace.isTime()) yield;
        resources.push(discoveryEntry(each));
      }
      entries.push({ version, resources, freshness: "Current" });
    }
    items.push({ metadata: { name: group, creationTimestamp: null }, versions: entries });
  }
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items,
  };
}

/** Entries between two pauses. */
const stepEntries = 20;

/** By group and version, each in the order in which the definitions name it first. */
type Grouped = ReadonlyMap<string, ReadonlyMap<string, readonly ResourceDefinition[]>>;

function* byGroup(definitions: readonly ResourceDefinition[]): Resumable<Grouped> {
  const pace = new YieldCounter(stepEntries);
  const groups = new Map<string, Map<string, ResourceDefinition[]>>();
  for (const definition of definitions) {
    if (pace.isTime()) yield;
    const { group, version } = definition;
    const versions = groups.get(group) ?? new Map<string, ResourceDefinition[]>();
    groups.set(group, versions);
    const served = versions.get(version);
    if (served === undefined) versions.set(version, [definition]);
    else served.push(definition);
  }
  return groups;
}

function groupEntry(group: string, names: readonly string[]): JsonObject {
  const versions = names.map((version) => ({
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
