/**
 * Agents of physical clusters: their identity in the control plane, their installation, and their
 * tokens.
 */
export { accountObjects, ensureAccount, removeAccount } from "./agent-account.ts";
export {
  AgentInstaller,
  type AgentInstallerOptions,
  type Installation,
  type InstallRequest,
} from "./agent-installer.ts";
export { type AgentServer, agentKubeconfig, agentViewPath } from "./agent-kubeconfig.ts";
export {
  type AgentManifestOptions,
  agentId,
  agentManifest,
  namespaceVerbs,
  parseName,
  syncVerbs,
} from "./agent-manifest.ts";
export { accountNamespace, secrets, serviceAccounts } from "./agent-objects.ts";
export {
  agentTokenSecondsDefault,
  isDueForRenewal,
  readToken,
  requestToken,
  type TokenClaims,
} from "./agent-token.ts";
export { AgentTokenRenewer, type AgentTokenRenewerOptions } from "./agent-token-renewer.ts";
