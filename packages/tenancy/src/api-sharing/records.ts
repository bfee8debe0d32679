/**
 * Small records of APIExports and APIBindings with the fields that decisions need; equal parts are
 * shared, because there can be very many bindings.
 */
import { type Entry, parseObjectKey, type Revision } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { InternPool } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectsOf,
  stringifyJson,
  textOf,
} from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { replicaStateOf } from "../replicas/index.ts";
import { member } from "../workspaces/index.ts";
import { extraAnnotationsOf } from "./extra-annotations.ts";
import { isSystemExport } from "./system-exports.ts";

/** A permission claim on resources in the workspaces of consumers. */
export interface Claim {
  readonly group: string;
  readonly resource: string;
  readonly identityHash: string;
  readonly verbs: readonly string[];
  /** The selector of a binding's acceptance, or the default selector of an export. */
  readonly selector: ClaimSelector | undefined;
  readonly state: "Accepted" | "Rejected" | undefined;
}

export interface ClaimSelector {
  readonly matchAll: boolean;
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly JsonObject[];
}

export interface ExportedResource {
  readonly group: string;
  readonly resource: string;
  readonly schema: string;
  /** Set for virtual storage: the objects are another workspace's, and read-only. */
  readonly virtual: VirtualStorage | undefined;
}

export interface VirtualStorage {
  /** The reference to the endpoint slice, which is in the export's workspace. */
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly identityHash: string;
}

export interface ExportRecord {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
  /** The revision of this shard at which it was stored here. */
  readonly createdAt: Revision;
  readonly path: string;
  readonly resources: readonly ExportedResource[];
  readonly claims: readonly Claim[];
  readonly identityHash: string;
  readonly hasPolicy: boolean;
  readonly isDeleted: boolean;
  /** Whether objects may have been stored with an earlier schema. */
  readonly hasChangedSchemas: boolean;
  /** The other shards with consumers; nearly always none. */
  readonly consumerShards: readonly string[];
  /** Annotations that the bindings copy; nearly always none. */
  readonly extraAnnotations: JsonObject | undefined;
}

export interface BoundResource {
  readonly group: string;
  readonly resource: string;
  readonly schemaName: string;
  readonly schemaUid: string;
  readonly identityHash: string;
  /** True when the binding's workspace stores no objects of the resource. */
  readonly isVirtual: boolean;
}

export interface BindingRecord {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
  readonly createdAt: Revision;
  readonly modifiedAt: Revision;
  /** The path in the binding's reference; empty for its own workspace. */
  readonly exportPath: string;
  readonly exportName: string;
  /** Undefined until the export was found. */
  readonly exportCluster: ClusterName | undefined;
  /** Shared by all bindings with equal content. */
  readonly bound: readonly BoundResource[];
  readonly claims: readonly Claim[];
  /** The claims of the export when the binding's status was last written. */
  readonly exportClaims: readonly Claim[];
  readonly isDeleted: boolean;
  readonly isBound: boolean;
}

/** The annotation of an export since one of its resources first got another schema. */
export const schemasChangedAnnotation = "internal.apis.kcp.io/reshaped";

/** With the name of a shard behind it: an annotation of an export with consumers on this shard. */
export const consumerAnnotationPrefix = "consumers.internal.apis.kcp.io/";

const noShards: readonly string[] = [];

function consumerShardsOf(annotations: JsonObject): readonly string[] {
  const found = Object.keys(annotations).filter((key) => key.startsWith(consumerAnnotationPrefix));
  return found.length === 0
    ? noShards
    : found.map((key) => key.slice(consumerAnnotationPrefix.length)).sort();
}

export function readExport(entry: Entry): ExportRecord {
  const object = decodeObject(entry);
  const { cluster, name } = parseObjectKey(entry.key);
  const [metadata, spec] = [member(object, "metadata"), member(object, "spec")];
  const annotations = member(metadata, "annotations");
  return {
    cluster,
    name,
    uid: textOf(metadata["uid"]),
    createdAt: entry.createdAt,
    path: textOf(annotations["kcp.io/path"]) || cluster,
    resources: objectsOf(spec["resources"]).map((resource) => ({
      group: textOf(resource["group"]),
      resource: textOf(resource["name"]),
      schema: textOf(resource["schema"]),
      virtual: virtualOf(member(resource, "storage")["virtual"]),
    })),
    claims: claimsOf(spec["permissionClaims"], "defaultSelector"),
    identityHash: textOf(member(object, "status")["identityHash"]),
    hasPolicy: member(spec, "maximalPermissionPolicy")["local"] !== undefined,
    isDeleted: metadata["deletionTimestamp"] !== undefined,
    hasChangedSchemas:
      annotations[schemasChangedAnnotation] !== undefined || replicaStateOf(object).isMarked,
    consumerShards: consumerShardsOf(annotations),
    extraAnnotations: extraAnnotationsOf(annotations),
  };
}

function virtualOf(value: JsonValue | undefined): VirtualStorage | undefined {
  if (!isJsonObject(value)) return undefined;
  const { apiGroup, kind, name } = member(value, "reference");
  return {
    group: textOf(apiGroup),
    kind: textOf(kind),
    name: textOf(name),
    identityHash: textOf(value["identityHash"]),
  };
}

export function readBinding(entry: Entry): BindingRecord {
  const object = decodeObject(entry);
  const { cluster, name } = parseObjectKey(entry.key);
  const [metadata, spec, status] = [
    member(object, "metadata"),
    member(object, "spec"),
    member(object, "status"),
  ];
  const { path, name: exportName } = member(member(spec, "reference"), "export");
  const exportCluster = textOf(status["apiExportClusterName"]);
  return {
    cluster,
    name,
    uid: textOf(metadata["uid"]),
    createdAt: entry.createdAt,
    modifiedAt: entry.modifiedAt,
    exportPath: textOf(path),
    exportName: textOf(exportName),
    exportCluster: exportCluster === "" ? undefined : (exportCluster as ClusterName),
    // Resources that are served everywhere are not served, limited or deleted by a binding.
    bound: isSystemExport(exportCluster as ClusterName, textOf(exportName))
      ? nothingBound
      : boundOf(status["boundResources"]),
    claims: claimsOf(spec["permissionClaims"], "selector"),
    exportClaims: claimsOf(status["exportPermissionClaims"], "defaultSelector"),
    isDeleted: metadata["deletionTimestamp"] !== undefined,
    isBound: status["phase"] === "Bound",
  };
}

const sharedBound = new InternPool<readonly BoundResource[]>();
const sharedClaims = new InternPool<readonly Claim[]>();
const nothingBound: readonly BoundResource[] = [];
const noClaims: readonly Claim[] = [];

function boundOf(value: JsonValue | undefined): readonly BoundResource[] {
  if (!Array.isArray(value) || value.length === 0) return nothingBound;
  return sharedBound.get(stringifyJson(value), () =>
    objectsOf(value).map((bound) => {
      const schema = member(bound, "schema");
      return {
        group: textOf(bound["group"]),
        resource: textOf(bound["resource"]),
        schemaName: textOf(schema["name"]),
        schemaUid: textOf(schema["UID"]),
        identityHash: textOf(schema["identityHash"]),
        isVirtual: listOf(bound["storageVersions"]).length === 0,
      };
    }),
  );
}

export function claimsOf(
  value: JsonValue | undefined,
  selector: "selector" | "defaultSelector",
): readonly Claim[] {
  if (!Array.isArray(value) || value.length === 0) return noClaims;
  return sharedClaims.get(`${selector} ${stringifyJson(value)}`, () =>
    objectsOf(value).map((claim) => ({
      group: textOf(claim["group"]),
      resource: textOf(claim["resource"]),
      identityHash: textOf(claim["identityHash"]),
      verbs: listOf(claim["verbs"]).map(textOf),
      selector: selectorOf(claim[selector]),
      state: claim["state"] as Claim["state"],
    })),
  );
}

function selectorOf(value: JsonValue | undefined): ClaimSelector | undefined {
  if (!isJsonObject(value)) return undefined;
  return {
    matchAll: value["matchAll"] === true,
    matchLabels: member(value, "matchLabels") as Readonly<Record<string, string>>,
    matchExpressions: objectsOf(value["matchExpressions"]),
  };
}
