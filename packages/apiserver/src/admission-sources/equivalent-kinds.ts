/** Other versions and groups under which the same objects are served, and how an object gets there and back. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { AdmissionRequest, EquivalentKind, ObjectDecoder } from "../admission/index.ts";
import {
  type Catalog,
  collectionKeyOf,
  type ResourceDefinition,
  toServed,
} from "../registry/index.ts";
import type { MaybePromise } from "../request/api-request.ts";
import { type Entry, objectKey, type Revision } from "../storage/index.ts";
import { decodeObject, encodeObject } from "../stored-object/index.ts";

export interface EquivalentKindsOptions {
  readonly catalog: Catalog;
  readonly formOf: (definition: ResourceDefinition) => ObjectDecoder;
}

type Definitions = readonly ResourceDefinition[];
type ByName = ReadonlyMap<string, Definitions>;

export function equivalentKinds({ catalog, formOf }: EquivalentKindsOptions) {
  const find = async (request: AdmissionRequest): Promise<readonly EquivalentKind[]> => {
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
      to === undefined || to === from ? [] : [equivalent(request, from, to, formOf(to))],
    );
  };
  return (request: AdmissionRequest): MaybePromise<readonly EquivalentKind[]> =>
    request.subresource === "" || request.subresource === "status" ? find(request) : [];
}

/** Clusters that serve the same share the list, and with it what is found out about it. */
const collections = new WeakMap<Definitions, ByName>();

/** By the name of each definition, all that are stored in the same place. */
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
  form: ObjectDecoder,
): EquivalentKind {
  const { group, version, resource, kind } = to;
  return {
    group,
    version,
    resource,
    kind,
    form,
    convert: (object) => converted(request, object, from, to),
    restore: (object) => converted(request, object, to, from),
  };
}

/** By way of the stored form, as if it had been written through one definition and read through the other. */
async function converted(
  { cluster, namespace, name }: AdmissionRequest,
  object: JsonObject,
  from: ResourceDefinition,
  to: ResourceDefinition,
): Promise<JsonObject> {
  const stored = from.form === undefined ? object : await from.form.toStored(object);
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

/** Reading says what version an entry has; this one has none yet, or that of the object it was made from. */
function withVersionOf(shown: JsonObject, object: JsonObject): JsonObject {
  const { resourceVersion: _, ...metadata } = shown["metadata"] as JsonObject;
  const { resourceVersion } = object["metadata"] as JsonObject;
  return {
    ...shown,
    metadata: resourceVersion === undefined ? metadata : { ...metadata, resourceVersion },
  };
}
