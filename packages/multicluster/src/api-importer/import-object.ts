/** Creates the APIResourceImport that describes an API of a cluster. Pure. */
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { ObjectInput, OwnerReference } from "@kcp-ts/sdk";
import {
  type APIResourceImport,
  type ApiResourceSpec,
  apiVersionAnnotation,
  type SyncTarget,
  syncTargets,
} from "../api/index.ts";
import { type ImportedApi, versionedName } from "../api-import/index.ts";

/** `<plural>.<location>.<version>.<group|core>` */
export function importName(
  api: Pick<ImportedApi, "plural" | "version" | "group">,
  location: string,
): string {
  return `${api.plural}.${location}.${api.version}.${api.group === "" ? "core" : api.group}`;
}

/** The SyncTarget as the owner of its imports. */
export function importOwner({ metadata: { name, uid = "" } }: SyncTarget): OwnerReference {
  const { group, version, kind } = syncTargets;
  return { apiVersion: `${group}/${version}`, kind, name, uid, controller: true };
}

/** The import has no strategy: users choose it. */
export function importOf(api: ImportedApi, target: SyncTarget): ObjectInput<APIResourceImport> {
  const { name: location } = target.metadata;
  const { group, version } = api;
  return {
    metadata: {
      name: importName(api, location),
      annotations: { [apiVersionAnnotation]: group === "" ? version : `${group}/${version}` },
      ownerReferences: [importOwner(target)],
    },
    spec: { location, ...specOf(api) },
  };
}

export function isSameImport(
  known: APIResourceImport,
  wanted: ObjectInput<APIResourceImport>,
): boolean {
  const { schemaUpdateStrategy: _, ...spec } = known.spec;
  const [owner] = known.metadata.ownerReferences ?? [];
  return (
    owner?.uid === wanted.metadata.ownerReferences?.[0]?.uid &&
    jsonEqual(spec as unknown as JsonValue, wanted.spec as unknown as JsonValue)
  );
}

/** The `versionedName` of an import, as in discovery. */
export function versionedNameOf({ plural, groupVersion }: ApiResourceSpec): string {
  const { group = "", version } = groupVersion;
  return versionedName({ resource: plural, version, group });
}

function specOf(api: ImportedApi): ApiResourceSpec {
  const { plural, singular, kind, listKind, shortNames, categories, scope, columns } = api;
  const subResources = [
    ...(api.hasStatus ? [{ name: "status" }] : []),
    ...(api.hasScale ? [{ name: "scale" }] : []),
  ];
  return {
    groupVersion: { ...(api.group === "" ? {} : { group: api.group }), version: api.version },
    scope,
    plural,
    singular,
    kind,
    listKind,
    ...(shortNames.length > 0 ? { shortNames: [...shortNames] } : {}),
    ...(categories.length > 0 ? { categories: [...categories] } : {}),
    openAPIV3Schema: fitting(api.schema),
    ...(subResources.length > 0 ? { subResources } : {}),
    ...(columns.length > 0
      ? {
          columnDefinitions: columns.map(
            ({ name, type, format, description, priority, jsonPath }) => ({
              name,
              type,
              jsonPath,
              ...(format === "" ? {} : { format }),
              ...(description === "" ? {} : { description }),
              ...(priority === 0 ? {} : { priority }),
            }),
          ),
        }
      : {}),
  };
}

/**
 * An import must fit into the store, with its conditions: a longer schema loses its descriptions.
 */
export const schemaCharactersMax = 1 << 20;

function fitting(schema: JsonObject): JsonObject {
  return JSON.stringify(schema).length <= schemaCharactersMax
    ? schema
    : (withoutDescriptions(schema) as JsonObject);
}

function withoutDescriptions(value: JsonValue): JsonValue {
  // A field may be named description; only a string is a description.
  return JSON.parse(
    JSON.stringify(value, (name, member: unknown) =>
      name === "description" && typeof member === "string" ? undefined : member,
    ),
  ) as JsonValue;
}
