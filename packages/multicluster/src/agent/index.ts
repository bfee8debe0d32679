/** Agents of physical clusters: who they are to the control plane, what is installed for them, and their tokens. */
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
export { AgentTokenRenewer, type AgentTokenRenewerOptions } from "./agent-token-keeper.ts";
