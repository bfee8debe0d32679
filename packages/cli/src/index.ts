export { agentMain } from "./agent.ts";
export { main } from "./main.ts";
export { createWorkspaceMain, kcpPluginMain, workspaceMain } from "./workspace-plugin/index.ts";
