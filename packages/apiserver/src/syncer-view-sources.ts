/** What virtual workspaces for agents are made of. */
import type { ExportConsumers } from "./api-sharing/index.ts";
import type { Authorizer } from "./authorization/index.ts";
import type { Catalog } from "./registry/index.ts";

export interface SyncerViewSources {
  readonly authorizer: Authorizer;
  readonly catalog: Catalog;
  readonly consumers: ExportConsumers;
}
