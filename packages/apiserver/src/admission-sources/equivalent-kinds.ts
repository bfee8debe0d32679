/**
 * Equivalent kinds: other versions and groups under which the same objects are served, and the
 * conversion of an object to them and back.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { AdmissionRequest, EquivalentKind, ObjectDecoder } from "../admission/index.ts";
import {
  type Catalog,
  collectionKeyOf,
  type ResourceDefinition,
  toServed,
} from "../registry/index.ts";
import { type Entry, objectKey, type Revision } from "../storage/index.ts";
import { decodeObject, encodeObject } from "../stored-object/index.ts";

export interface EquivalentKindsOptions {
  readonly catalog: Catalog;
  readonly decoderOf: (definition: ResourceDefinition) => ObjectDecoder;
}

type Definitions = readonly ResourceDefinition[];
type ByName = ReadonlyMap<string, Definitions>;

export function equivalentKinds({ catalog, decoderOf }: EquivalentKindsOptions) {
  return async (request: AdmissionRequest): Promise<readonly EquivalentKind[]> => {
    if (request.subresource !== "" && request.subresource !== "status") return [];
    const all = await catalog.all(request.cluster);
    const same = sameCollection(all).get(nameOf(request)) ?? [];
    if (same.length < 2) return [];
    const served = await Promise.all(
      same.map(({ group, version, resource }) =>
        catalog.find(request.cluster, group, version, resource),
      ),
    );
    const from = served.find(
      (one) => one?.group === request.group && one.version === request.version,
    );
    if (from === undefined) return [];
    return served.flatMap((to) =>
      to === undefined || to === from ? [] : [equivalent(request, from, to, decoderOf(to))],
    );
  };
}

/**
 * Clusters that serve the same definitions share the list, and with it the results that are cached
 * for it.
 */
const collections = new WeakMap<Definitions, ByName>();

/** Maps the name of each definition to all definitions with the same storage location. */
function sameCollection(all: Definitions): ByName {
  let byName = collections.get(all);
  if (byName === undefined) {
    const byCollection = new Map<string, ResourceDefinition[]>();
    for (const definition of all) {
      const name = nameOf(collectionKeyOf(definition));
      const known = byCollection.get(name);
      if (known === undefined) byCollection.set(name, [definition]);
      else known.push(definition);
    }
    byName = new Map(
      all.map((definition) => [
        nameOf(definition),
        byCollection.get(nameOf(collectionKeyOf(definition))) ?? [],
      ]),
    );
    collections.set(all, byName);
  }
  return byName;
}

function nameOf({ group, resource }: { readonly group: string; readonly resource: string }) {
  return `${resource}.${group}`;
}

function equivalent(
  request: AdmissionRequest,
  from: ResourceDefinition,
  to: ResourceDefinition,
  decoder: ObjectDecoder,
): EquivalentKind {
  const { group, version, resource, kind } = to;
  return {
    group,
    version,
    resource,
    kind,
    decoder,
    convert: (object) => converted(request, object, from, to),
    restore: (object) => converted(request, object, to, from),
  };
}

/**
 * Converts by way of the stored form, as if the object had been written through one definition and
 * read through the other.
 */
async function converted(
  { cluster, namespace, name }: AdmissionRequest,
  object: JsonObject,
  from: ResourceDefinition,
  to: ResourceDefinition,
): Promise<JsonObject> {
  const stored = from.codec === undefined ? object : await from.codec.toStored(object);
  const unsaved = 0 as Revision;
  const entry: Entry = {
    key: objectKey({ ...collectionKeyOf(from), cluster, namespace, name: name || "-" }),
    value: encodeObject(stored),
    createdAt: unsaved,
    modifiedAt: unsaved,
  };
  const shown = decodeObject(await toServed(to, entry));
  return withVersionOf(shown, object);
}

/**
 * Reading sets the resourceVersion of the entry; this object has none yet, or that of the object it
 * was made from.
 */
function withVersionOf(shown: JsonObject, object: JsonObject): JsonObject {
  const { resourceVersion: _, ...metadata } = shown["metadata"] as JsonObject;
  const { resourceVersion } = object["metadata"] as JsonObject;
  return {
    ...shown,
    metadata: resourceVersion === undefined ? metadata : { ...metadata, resourceVersion },
  };
}
