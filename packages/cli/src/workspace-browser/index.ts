/** The tree of workspaces on a terminal, to walk through and to choose from. */
export { browse } from "./browse.ts";
export { processTerminal } from "./terminal.ts";
export type { WorkspaceInfo } from "./tree-state.ts";
