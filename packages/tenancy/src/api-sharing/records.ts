/** What decisions need to know of APIExports and APIBindings: small, and shared where they say the same, because there can be very many. */

import { type Entry, parseObjectKey, type Revision } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { InternPool } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { member } from "../workspaces/index.ts";
import { extraAnnotationsOf } from "./extra-annotations.ts";
import { listOf, textOf } from "./kinds/as-definition.ts";
import { isSystemExport } from "./system-exports.ts";

/** A claim on resources in the workspaces of consumers. */
export interface Claim {
  readonly group: string;
  readonly resource: string;
  readonly identityHash: string;
  readonly verbs: readonly string[];
  /** A binding's answer to it, or an export's proposal. */
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
  /** Set when its objects are those of somebody else, to be read. */
  readonly virtual: VirtualStorage | undefined;
}

export interface VirtualStorage {
  /** Of the endpoint slice, which is beside the export. */
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly identityHash: string;
}

export interface ExportRecord {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
  readonly path: string;
  readonly resources: readonly ExportedResource[];
  readonly claims: readonly Claim[];
  readonly identityHash: string;
  readonly hasPolicy: boolean;
  readonly isDeleted: boolean;
  /** Objects may have been stored under an earlier schema. */
  readonly isReshaped: boolean;
  /** Annotations that its bindings have, too; nearly always none. */
  readonly extras: JsonObject | undefined;
}

export interface BoundResource {
  readonly group: string;
  readonly resource: string;
  readonly schemaName: string;
  readonly schemaUid: string;
  readonly identityHash: string;
  /** Nothing of it is stored in the workspace of the binding. */
  readonly isVirtual: boolean;
}

export interface BindingRecord {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
  readonly createdAt: Revision;
  readonly modifiedAt: Revision;
  /** As the binding refers to it; empty for its own workspace. */
  readonly exportPath: string;
  readonly exportName: string;
  /** Undefined until it was found. */
  readonly exportCluster: ClusterName | undefined;
  /** Shared by all bindings that say the same. */
  readonly bound: readonly BoundResource[];
  readonly claims: readonly Claim[];
  /** What the export claimed when the binding's status was last written. */
  readonly exportClaims: readonly Claim[];
  readonly isDeleted: boolean;
  readonly isBound: boolean;
}

/** Set on an export when one of its resources first gets another schema. */
export const schemasChangedAnnotation = "internal.apis.kcp.io/reshaped";

export function readExport(entry: Entry): ExportRecord {
  const object = decodeObject(entry);
  const { cluster, name } = parseObjectKey(entry.key);
  const [metadata, spec] = [member(object, "metadata"), member(object, "spec")];
  const annotations = member(metadata, "annotations");
  return {
    cluster,
    name,
    uid: textOf(metadata["uid"]),
    path: textOf(annotations["kcp.io/path"]) || cluster,
    resources: objects(spec["resources"]).map((resource) => ({
      group: textOf(resource["group"]),
      resource: textOf(resource["name"]),
      schema: textOf(resource["schema"]),
      virtual: virtualOf(member(resource, "storage")["virtual"]),
    })),
    claims: claimsOf(spec["permissionClaims"], "defaultSelector"),
    identityHash: textOf(member(object, "status")["identityHash"]),
    hasPolicy: member(spec, "maximalPermissionPolicy")["local"] !== undefined,
    isDeleted: metadata["deletionTimestamp"] !== undefined,
    isReshaped: annotations[schemasChangedAnnotation] !== undefined,
    extras: extraAnnotationsOf(annotations),
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
    // What is served anyway is not a binding's to serve, to limit or to take along.
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
    objects(value).map((bound) => {
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
    objects(value).map((claim) => ({
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
    matchExpressions: objects(value["matchExpressions"]),
  };
}

function objects(value: JsonValue | undefined): readonly JsonObject[] {
  return listOf(value).filter(isJsonObject);
}
