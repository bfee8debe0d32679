/** Tenancy: workspaces, their types, and the logical clusters behind them. */
export { homeClusterName } from "./cluster-names.ts";
export { homeName } from "./home-workspace.ts";
export { logicalClusters, workspaces, workspaceTypes } from "./kinds/definitions.ts";
export type { LogicalClusterRecord } from "./records.ts";
export { Tenancy, type TenancyOptions } from "./tenancy.ts";
export type { Resolution } from "./workspace-tree.ts";
