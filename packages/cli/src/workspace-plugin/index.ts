/** The kubectl plugins of kcp. */
export {
  createWorkspaceMain,
  createWorkspaceProgram,
  kcpPluginMain,
  kcpPluginProgram,
  workspaceMain,
  workspaceProgram,
} from "./programs.ts";
