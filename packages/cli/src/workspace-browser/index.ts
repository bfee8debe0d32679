/** An interactive tree of workspaces on a terminal, to choose one. */
export { browse } from "./browse.ts";
export { processTerminal } from "./terminal.ts";
export type { WorkspaceInfo } from "./tree-state.ts";
