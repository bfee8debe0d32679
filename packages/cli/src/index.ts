export { agentMain } from "./agent.ts";
export { main } from "./main.ts";
export {
  completeCreateWorkspace,
  completeKcpPlugin,
  completeWorkspace,
} from "./plugin-completion.ts";
export { createWorkspaceMain, kcpPluginMain, workspaceMain } from "./workspace-plugin/index.ts";
