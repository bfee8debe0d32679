export { agentMain } from "./agent.ts";
export { type CommandLine, commandLines, type Flag } from "./command-lines.ts";
export { main } from "./main.ts";
export {
  completeCreateWorkspace,
  completeKcpPlugin,
  completeWorkspace,
} from "./plugin-completion.ts";
export { createWorkspaceMain, kcpPluginMain, workspaceMain } from "./workspace-plugin/index.ts";
