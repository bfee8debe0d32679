/**
 * The cache of APIResourceImports: a schema that many clusters have is stored once, however many
 * imports repeat it.
 *
 * All watches of imports through shared sources use these options, because the source decides once
 * which parts of an object it caches.
 */
import { createHash } from "node:crypto";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { crdName } from "@kcp-ts/machinery/schema";
import type { Indexers, SharedInformerOptions } from "@kcp-ts/sdk";
import type { APIResourceImport, ApiResourceSpec } from "./api-resources.ts";

/** The index by the location of an import. */
export const byLocation = "by-location";
/** The index by `crdName`: all versions of a resource. */
export const byDefinition = "by-definition";

export const importInformer: SharedInformerOptions<APIResourceImport, APIResourceImport> = {
  transform: (object) => shared(object),
  indexers: {
    [byLocation]: { values: ({ spec }) => [spec.location] },
    [byDefinition]: { values: ({ spec }) => [definitionName(spec)] },
  } satisfies Indexers<APIResourceImport>,
};

/**
 * The name of the CustomResourceDefinition that the API would have: `deployments.apps`,
 * `services.core`.
 */
export function definitionName({ plural, groupVersion }: ApiResourceSpec): string {
  return crdName(plural, groupOf(groupVersion));
}

export function groupOf({ group = "" }: ApiResourceSpec["groupVersion"]): string {
  return group === "core" ? "" : group;
}

/** A digest that is equal for equal schemas of one server. */
export function schemaDigest(schema: JsonObject): string {
  let digest = digests.get(schema);
  if (digest === undefined) {
    digest = createHash("sha256").update(JSON.stringify(schema)).digest("base64");
    digests.set(schema, digest);
  }
  return digest;
}

const digests = new WeakMap<JsonObject, string>();
const schemas = new Map<string, WeakRef<JsonObject>>();
let sweepAtSize = 64;

function shared(object: APIResourceImport): APIResourceImport {
  const { managedFields: _, ...metadata } = object.metadata;
  const { openAPIV3Schema } = object.spec;
  const digest = schemaDigest(openAPIV3Schema);
  const known = schemas.get(digest)?.deref();
  if (known === undefined) {
    schemas.set(digest, new WeakRef(openAPIV3Schema));
    sweep();
  }
  const spec = { ...object.spec, openAPIV3Schema: known ?? openAPIV3Schema };
  return { ...object, metadata, spec };
}

/**
 * Removes entries of schemas that no import references any more; runs seldom, so that its amortized
 * cost is small.
 */
function sweep(): void {
  if (schemas.size < sweepAtSize) return;
  for (const [digest, reference] of schemas) {
    if (reference.deref() === undefined) schemas.delete(digest);
  }
  sweepAtSize = Math.max(64, schemas.size * 2);
}
