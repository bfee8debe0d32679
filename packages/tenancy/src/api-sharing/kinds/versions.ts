/**
 * Converts APIExports and APIBindings between v1alpha1 and v1alpha2. The storage version is
 * v1alpha2; fields that a version cannot express survive in annotations, so that an object loses no
 * field in a round trip through either version.
 */
import type { VersionCodec } from "@kcp-ts/apiserver/registry";
import type { Entry } from "@kcp-ts/apiserver/storage";
import { decodeObject, encodeObject } from "@kcp-ts/apiserver/stored-object";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  listOf,
  objectsOf,
  parseJson,
  stringifyJson,
  textOf,
} from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { member } from "../../workspaces/index.ts";
import { apisGroup } from "./schemas.ts";
import { groupInName } from "./to-custom-resource-definition.ts";

const overhang = {
  resources: "apis.v1alpha2.kcp.io/resource-schemas",
  claims: "apis.v1alpha2.kcp.io/permission-claims",
  oldClaims: "apis.v1alpha2.kcp.io/v1alpha1-permission-claims",
} as const;

const oldVersion = `${apisGroup}/v1alpha1`;
const newVersion = `${apisGroup}/v1alpha2`;

export const exportCodecV1alpha1: VersionCodec = codecOf(
  "apiexports-v1alpha1",
  toV1alpha1Export,
  toV1alpha2Export,
);
export const bindingCodecV1alpha1: VersionCodec = codecOf(
  "apibindings-v1alpha1",
  toV1alpha1Binding,
  toV1alpha2Binding,
);

type Turn = (object: JsonObject) => JsonObject;

function codecOf(name: string, toOld: Turn, toNew: Turn): VersionCodec {
  const turned = new WeakMap<Entry, Entry>();
  const toServedSync = (entry: Entry): Entry => {
    const known = turned.get(entry);
    if (known !== undefined) return known;
    const value = encodeObject(toOld(decodeObject(entry)));
    const shown = { ...entry, value };
    turned.set(entry, shown);
    return shown;
  };
  return {
    name,
    storesAsServed: false,
    toServedSync,
    toServed: (entries) => entries.map(toServedSync),
    toStored: async (object) => toNew(object),
  };
}

function toV1alpha1Export(object: JsonObject): JsonObject {
  const { resources, permissionClaims, ...spec } = member(object, "spec");
  const plain = listOf(resources).filter(isPlainResource);
  const other = listOf(resources).filter((resource) => !isPlainResource(resource));
  const schemas = plain.map((resource) => textOf((resource as JsonObject)["schema"]));
  return withSpec(object, oldVersion, {
    annotations: {
      [overhang.resources]: other.length === 0 ? undefined : stringifyJson(other),
      ...claimsLostInV1alpha1(permissionClaims),
    },
    spec: {
      ...spec,
      ...(resources === undefined ? {} : { latestResourceSchemas: schemas }),
      ...toV1alpha1Claims(object, permissionClaims),
    },
  });
}

function toV1alpha2Export(object: JsonObject): JsonObject {
  const { latestResourceSchemas, permissionClaims, ...spec } = member(object, "spec");
  const kept = readLostClaims(object, overhang.resources);
  const plain = listOf(latestResourceSchemas).map((name) => resourceOf(textOf(name)));
  return withSpec(object, newVersion, {
    annotations: { [overhang.resources]: undefined, ...claimsLostInV1alpha2(permissionClaims) },
    spec: {
      ...spec,
      ...(latestResourceSchemas === undefined && kept.length === 0
        ? {}
        : { resources: [...plain, ...kept] }),
      ...toV1alpha2Claims(object, permissionClaims),
    },
  });
}

function toV1alpha1Binding(object: JsonObject): JsonObject {
  const { permissionClaims, ...spec } = member(object, "spec");
  return withSpec(object, oldVersion, {
    annotations: claimsLostInV1alpha1(permissionClaims),
    spec: { ...spec, ...toV1alpha1Claims(object, permissionClaims) },
  });
}

function toV1alpha2Binding(object: JsonObject): JsonObject {
  const { permissionClaims, ...spec } = member(object, "spec");
  return withSpec(object, newVersion, {
    annotations: claimsLostInV1alpha2(permissionClaims),
    spec: { ...spec, ...toV1alpha2Claims(object, permissionClaims) },
  });
}

interface ConvertedSpec {
  readonly annotations: Readonly<Record<string, string | undefined>>;
  readonly spec: JsonObject;
}

function withSpec(object: JsonObject, apiVersion: string, turned: ConvertedSpec): JsonObject {
  const metadata = member(object, "metadata");
  const annotations: Record<string, JsonValue> = { ...member(metadata, "annotations") };
  for (const [key, value] of Object.entries(turned.annotations)) {
    if (value === undefined) delete annotations[key];
    else annotations[key] = value;
  }
  const { kind, apiVersion: _, metadata: __, spec: ___, ...rest } = object;
  return {
    ...(kind === undefined ? {} : { kind }),
    apiVersion,
    metadata: { ...metadata, annotations },
    spec: turned.spec,
    ...rest,
  };
}

function isPlainResource(resource: JsonValue): boolean {
  return isJsonObject(resource) && member(resource, "storage")["virtual"] === undefined;
}

/** The resource of a schema named `<prefix>.<plural>.<group>`. */
function resourceOf(schema: string): JsonObject {
  const [prefix, name, ...group] = schema.split(".");
  if (prefix === undefined || name === undefined || group.length === 0)
    throw statusError.badRequest(
      `invalid schema name ${JSON.stringify(schema)}: must be <prefix>.<resource>.<group>`,
    );
  const joined = group.join(".");
  return { name, group: joined === groupInName("") ? "" : joined, schema, storage: { crd: {} } };
}

function keyOf(claim: JsonObject): string {
  return `${textOf(claim["resource"])}/${textOf(claim["group"])}/${textOf(claim["identityHash"])}`;
}

/** Converts claims of v1alpha2 to v1alpha1. */
function toV1alpha1Claims(object: JsonObject, claims: JsonValue | undefined): JsonObject {
  if (claims === undefined) return {};
  const before = byKey(readLostClaims(object, overhang.oldClaims));
  const permissionClaims = objectsOf(claims).map((claim) => {
    const { verbs: _, selector, defaultSelector: __, ...rest } = claim;
    const kept = before.get(keyOf(claim));
    if (kept !== undefined) {
      const { all, resourceSelector } = kept;
      return {
        ...rest,
        ...(all === undefined ? {} : { all }),
        ...(resourceSelector === undefined ? {} : { resourceSelector }),
      };
    }
    const isAll = !isJsonObject(selector) || selector["matchAll"] === true;
    return { ...rest, ...(isAll ? { all: true } : {}) };
  });
  return { permissionClaims };
}

/** Converts claims of v1alpha1, which have no verbs and mean all of them. */
function toV1alpha2Claims(object: JsonObject, claims: JsonValue | undefined): JsonObject {
  if (claims === undefined) return {};
  const before = byKey(readLostClaims(object, overhang.claims));
  const isBinding = object["kind"] === "APIBinding";
  const permissionClaims = objectsOf(claims).map((claim) => {
    const { all: _, resourceSelector: __, ...rest } = claim;
    const { verbs, selector, defaultSelector } = before.get(keyOf(claim)) ?? {};
    return {
      ...rest,
      verbs: verbs ?? ["*"],
      ...(isBinding ? { selector: selector ?? { matchAll: true } } : {}),
      ...(isBinding || defaultSelector === undefined ? {} : { defaultSelector }),
    };
  });
  return { permissionClaims };
}

/** The fields of claims that v1alpha1 cannot express. */
function claimsLostInV1alpha1(claims: JsonValue | undefined): Record<string, string | undefined> {
  const unsaid = objectsOf(claims).filter(
    ({ verbs, selector, defaultSelector }) =>
      stringifyJson(verbs ?? null) !== '["*"]' ||
      defaultSelector !== undefined ||
      (isJsonObject(selector) && selector["matchAll"] !== true),
  );
  return {
    [overhang.claims]: unsaid.length === 0 ? undefined : stringifyJson(unsaid),
    [overhang.oldClaims]: undefined,
  };
}

/** The fields of claims that v1alpha2 cannot express. */
function claimsLostInV1alpha2(claims: JsonValue | undefined): Record<string, string | undefined> {
  const unsaid = objectsOf(claims).filter(
    ({ all, resourceSelector }) => all !== true || resourceSelector !== undefined,
  );
  return {
    [overhang.claims]: undefined,
    [overhang.oldClaims]: unsaid.length === 0 ? undefined : stringifyJson(unsaid),
  };
}

function byKey(claims: readonly JsonValue[]): ReadonlyMap<string, JsonObject> {
  return new Map(objectsOf([...claims]).map((claim) => [keyOf(claim), claim]));
}

function readLostClaims(object: JsonObject, key: string): readonly JsonValue[] {
  const text = member(member(object, "metadata"), "annotations")[key];
  if (typeof text !== "string") return [];
  try {
    return listOf(parseJson(text).value);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    // A client wrote an invalid annotation: only its content is lost.
    return [];
  }
}
