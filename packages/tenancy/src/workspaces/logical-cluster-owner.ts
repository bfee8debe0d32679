/** The Workspace that owns a LogicalCluster. */
import { parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { workspaces } from "./kinds/definitions.ts";
import { member } from "./records.ts";

export interface LogicalClusterOwner {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly uid: string;
}

export function logicalClusterOwnerOf(object: JsonObject): LogicalClusterOwner | undefined {
  const { owner } = member(object, "spec");
  if (!isJsonObject(owner) || owner["resource"] !== workspaces.resource) return undefined;
  return owner as unknown as LogicalClusterOwner;
}

/** Compares the uid: an earlier Workspace of the same name is not the owner. */
export function isOwnedBy(logical: JsonObject, key: StorageKey, workspace: JsonObject): boolean {
  const owner = logicalClusterOwnerOf(logical);
  const { cluster, name } = parseObjectKey(key);
  const { uid } = member(workspace, "metadata");
  return owner?.cluster === cluster && owner.name === name && owner.uid === uid;
}
