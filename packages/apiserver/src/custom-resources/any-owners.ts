/**
 * A custom resource in all logical clusters at once. Every cluster has defined it for itself, so there is no common schema or version: only the
 * metadata of its objects can be shown, with a note of the version that each is stored in.
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
    // Whether the objects are in namespaces is each cluster's business.
    isNamespaced: true,
    shortNames: [],
    categories: [],
    verbs: ["list", "watch"],
    identity: "",
    itemsCarryKind: true,
    isAnyOwners: true,
    strategy: metadataOnly,
    subresources: new Map(),
    form: withOriginalVersion,
  };
}

const metadataOnly: Strategy = {
  ...customResourceDefinitions.strategy,
  selectableFields: new Map(),
};

const withOriginalVersion: VersionCodec = {
  name: "any-owners",
  presentNow: annotateOriginalVersion,
  present: (entries) => entries.map(annotateOriginalVersion),
  toStored: (object) => object,
};

/** In the turn of an event, so that it must not take longer for larger objects. */
function annotateOriginalVersion(entry: Entry): Entry {
  return annotatedMetadata(entry, originalVersionAnnotation, storedVersionOf(entry));
}
