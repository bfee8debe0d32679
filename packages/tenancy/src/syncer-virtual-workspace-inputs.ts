/** The inputs of virtual workspaces for syncers. */
import type { Authorizer } from "@kcp-ts/apiserver/authorization";
import type { Catalog } from "@kcp-ts/apiserver/registry";
import type { ExportConsumers } from "./api-sharing/index.ts";

export interface SyncerVirtualWorkspaceInputs {
  readonly authorizer: Authorizer;
  readonly catalog: Catalog;
  readonly consumers: ExportConsumers;
}
