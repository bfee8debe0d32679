/**
 * Agents of physical clusters: their identity in the control plane, their installation, and their
 * tokens.
 */
export { ensureAccount, removeAccount } from "./agent-account.ts";
export {
  AgentInstaller,
  type AgentInstallerOptions,
  type Installation,
} from "./agent-installer.ts";
export { type AgentServer, agentKubeconfig, agentViewPath } from "./agent-kubeconfig.ts";
export { agentId, agentManifest, namespaceVerbs, parseName, syncVerbs } from "./agent-manifest.ts";
export { accountNamespace, secrets, serviceAccounts } from "./agent-objects.ts";
export {
  agentTokenSecondsDefault,
  isDueForRenewal,
  readToken,
  requestToken,
} from "./agent-token.ts";
export { AgentTokenRenewer } from "./agent-token-renewer.ts";
