/**
 * What a request to a virtual workspace is about: a view of what other logical clusters have, under
 * `/services/`.
 */
import type { RequestScope } from "@kcp-ts/apiserver/request/request-scope";
import type { ClusterName } from "@kcp-ts/machinery/names";

export type VirtualWorkspaceScope =
  | { readonly name: "apiexport"; readonly cluster: ClusterName; readonly export: string }
  | { readonly name: "apiresourceschema"; readonly cluster: ClusterName }
  | ReplicationScope
  | {
      readonly name: "initializingworkspaces" | "terminatingworkspaces";
      /** Of the initializer or terminator: `<cluster>:<WorkspaceType>`. */
      readonly id: string;
    }
  | SyncerScope;

/** What a ClusterCachedResourceEndpointSlice leads to. */
export interface ReplicationScope {
  readonly name: "replication";
  readonly cluster: ClusterName;
  readonly slice: string;
}

/**
 * What the agent of one physical cluster sees of a logical cluster. The uid tells its SyncTarget
 * from an earlier one of the same name.
 */
export interface SyncerScope {
  readonly name: "syncer";
  readonly cluster: ClusterName;
  readonly target: string;
  readonly uid: string;
}

/** A server with workspaces has no other views. */
export function virtualWorkspaceOf({
  service,
}: Pick<RequestScope, "service">): VirtualWorkspaceScope | undefined {
  return service as VirtualWorkspaceScope | undefined;
}
