/**
 * A custom resource over all logical clusters. Every cluster has a definition of its own, so there
 * is no common schema or version: only the metadata of the objects is served, with an annotation of
 * the version in which each is stored.
 */
import type { ResourceDefinition, Strategy, VersionCodec } from "../registry/index.ts";
import type { Entry } from "../storage/index.ts";
import { annotatedMetadata, storedVersionOf } from "../stored-object/index.ts";
import { customResourceDefinitions } from "./definitions.ts";

export const originalVersionAnnotation = "kcp.io/original-api-version";

export function wildcardPartialMetadataDefinition(
  group: string,
  version: string,
  resource: string,
): ResourceDefinition {
  return {
    group,
    version,
    resource,
    singular: "",
    kind: "PartialObjectMetadata",
    listKind: "PartialObjectMetadataList",
    // Each cluster decides whether its objects are namespaced.
    isNamespaced: true,
    shortNames: [],
    categories: [],
    verbs: ["list", "watch"],
    identity: "",
    itemsCarryKind: true,
    isWildcardPartialMetadata: true,
    strategy: metadataOnly,
    subresources: new Map(),
    codec: withOriginalVersion,
  };
}

const metadataOnly: Strategy = {
  ...customResourceDefinitions.strategy,
  selectableFields: new Map(),
};

const withOriginalVersion: VersionCodec = {
  name: "any-owners",
  storesAsServed: false,
  toServedSync: annotateOriginalVersion,
  toServed: (entries) => entries.map(annotateOriginalVersion),
  toStored: async (object) => object,
};

/** Runs in the turn of an event, so its cost must not depend on the size of the object. */
function annotateOriginalVersion(entry: Entry): Entry {
  return annotatedMetadata(entry, originalVersionAnnotation, storedVersionOf(entry));
}
