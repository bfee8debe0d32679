/** Small records of the kinds of cache.kcp.io with the fields that decisions need. */
import { type Entry, parseObjectKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { isJsonObject, stringifyJson, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type LabelSelector,
  type LabelSelectorObject,
  SelectorSyntaxError,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import { member } from "../../workspaces/index.ts";
import { type EndpointSliceRecord, readEndpointSlice } from "../endpoint-slice-index.ts";
import type { ExportRecord, VirtualStorage } from "../records.ts";
import { clusterCachedResourceEndpointSlices } from "./kinds.ts";

export interface CachedResourceRecord {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly group: string;
  /** Empty for the preferred version. */
  readonly version: string;
  readonly resource: string;
  /** A string is the error of an invalid selector, which selects nothing. */
  readonly selector: LabelSelector | string;
  readonly identityHash: string;
  readonly isDeleted: boolean;
  /** Two records with the same content publish the same objects. */
  readonly content: string;
}

export function readCachedResource(entry: Entry): CachedResourceRecord {
  const object = decodeObject(entry);
  const { cluster, name } = parseObjectKey(entry.key);
  const { uid, deletionTimestamp } = member(object, "metadata");
  const { group, version, resource, labelSelector } = member(object, "spec");
  const identityHash = textOf(member(object, "status")["identityHash"]);
  const isDeleted = deletionTimestamp !== undefined;
  const content = stringifyJson({
    ...{ uid: uid ?? "", isDeleted, identityHash },
    ...{ group: textOf(group), version: textOf(version), resource: textOf(resource) },
    labelSelector: labelSelector ?? {},
  });
  return {
    ...{ cluster, name, identityHash, isDeleted, content },
    ...{ group: textOf(group), version: textOf(version), resource: textOf(resource) },
    selector: selectorOf(isJsonObject(labelSelector) ? labelSelector : {}),
  };
}

function selectorOf(selector: LabelSelectorObject): LabelSelector | string {
  try {
    return selectorFromLabelSelectorObject(selector);
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return error.message;
    throw error;
  }
}

export interface CachedSliceRecord extends EndpointSliceRecord {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
  /** The path in the slice's reference; empty for its own workspace. */
  readonly exportPath: string;
  /** Empty when the slice covers all shards. */
  readonly partitionName: string;
  readonly resourcePath: string;
  readonly resourceName: string;
}

export function readCachedSlice(entry: Entry): CachedSliceRecord {
  const object = decodeObject(entry);
  const spec = member(object, "spec");
  const { path, name: resourceName } = member(spec, "clusterCachedResource");
  const { cluster, name } = parseObjectKey(entry.key);
  return {
    ...readEndpointSlice(entry),
    ...{ cluster, name, uid: textOf(member(object, "metadata")["uid"]) },
    exportPath: textOf(member(spec, "export")["path"]),
    partitionName: textOf(spec["partition"]),
    resourcePath: textOf(path),
    resourceName: textOf(resourceName),
  };
}

/** Whether a resource of an export is served from a ClusterCachedResource. */
export function isCachedStorage(virtual: VirtualStorage | undefined): virtual is VirtualStorage {
  const { group, kind } = clusterCachedResourceEndpointSlices;
  return virtual?.kind === kind && virtual.group === group;
}

/** The resource of an export that references a slice of this name. */
export function resourceServedBy({ resources }: ExportRecord, slice: string) {
  return resources.find(({ virtual }) => isCachedStorage(virtual) && virtual.name === slice);
}
