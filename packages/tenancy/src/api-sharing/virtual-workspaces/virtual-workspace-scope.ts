/**
 * The scope of a request to a virtual workspace: a view of other logical clusters' objects, under
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
      /** The identifier of the initializer or terminator: `<cluster>:<WorkspaceType>`. */
      readonly id: string;
    }
  | SyncerScope;

/** The virtual workspace of a ClusterCachedResourceEndpointSlice. */
export interface ReplicationScope {
  readonly name: "replication";
  readonly cluster: ClusterName;
  readonly slice: string;
}

/**
 * The view of a logical cluster for the syncer of one physical cluster. The uid distinguishes its
 * SyncTarget from an earlier one of the same name.
 */
export interface SyncerScope {
  readonly name: "syncer";
  readonly cluster: ClusterName;
  readonly target: string;
  readonly uid: string;
}

/** The view that is a SyncTarget's own; undefined for every other, and for none. */
export function syncerScopeOf(service: RequestScope["service"]): SyncerScope | undefined {
  const view = virtualWorkspaceOf({ service });
  return view?.name === "syncer" ? view : undefined;
}

/** A server with workspaces has no other views. */
export function virtualWorkspaceOf({
  service,
}: Pick<RequestScope, "service">): VirtualWorkspaceScope | undefined {
  return service as VirtualWorkspaceScope | undefined;
}
