/** What the agent of a physical cluster needs there. Runs in browsers: docs/adr/0089. */
export { syncedResourcesDefault } from "../api/default-resources.ts";
export { type AgentServer, agentKubeconfig, agentViewPath } from "./agent-kubeconfig.ts";
export {
  type AgentManifestOptions,
  manifestOfAgent,
  namespaceVerbs,
  parseName,
  syncVerbs,
} from "./agent-manifest.ts";
