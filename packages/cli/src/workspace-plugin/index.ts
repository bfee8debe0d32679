/** The kubectl plugins of kcp. */
export { createWorkspaceMain, kcpPluginMain, workspaceMain } from "./programs.ts";
