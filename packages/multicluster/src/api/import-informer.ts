/**
 * How APIResourceImports are cached: a schema that many clusters have is held once, however many imports repeat it.
 *
 * Whoever watches imports through shared sources uses these options, because what is kept of an object is decided once.
 */
import { createHash } from "node:crypto";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { crdName } from "@kcp-ts/machinery/schema";
import type { Indexers, SharedInformerOptions } from "@kcp-ts/sdk";
import type { APIResourceImport, ApiResourceSpec } from "./api-resources.ts";

/** Of the location that an import is from. */
export const byLocation = "by-location";
/** Of `crdName`: all versions of a resource. */
export const byDefinition = "by-definition";

export const importInformer: SharedInformerOptions<APIResourceImport, APIResourceImport> = {
  transform: (object) => shared(object),
  indexers: {
    [byLocation]: { values: ({ spec }) => [spec.location] },
    [byDefinition]: { values: ({ spec }) => [definitionName(spec)] },
  } satisfies Indexers<APIResourceImport>,
};

/** The name of the CustomResourceDefinition that the API would have: `deployments.apps`, `services.core`. */
export function definitionName({ plural, groupVersion }: ApiResourceSpec): string {
  return crdName(plural, groupOf(groupVersion));
}

export function groupOf({ group = "" }: ApiResourceSpec["groupVersion"]): string {
  return group === "core" ? "" : group;
}

/** Equal for equal schemas of one server. */
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

/** Entries of schemas that nobody holds any more; now and then, so that it costs little for each. */
function sweep(): void {
  if (schemas.size < sweepAtSize) return;
  for (const [digest, reference] of schemas) {
    if (reference.deref() === undefined) schemas.delete(digest);
  }
  sweepAtSize = Math.max(64, schemas.size * 2);
}
