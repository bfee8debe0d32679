/**
 * Agents of physical clusters: their identity in the control plane, their installation, and their
 * tokens.
 */
export {
  type AgentServer,
  agentKubeconfig,
  agentViewPath,
  namespaceVerbs,
  parseName,
  syncVerbs,
} from "../agent-manifest/index.ts";
export { ensureAccount, removeAccount } from "./agent-account.ts";
export {
  AgentInstaller,
  type AgentInstallerOptions,
  type Installation,
} from "./agent-installer.ts";
export { agentId, agentManifest } from "./agent-manifest.ts";
export { accountNamespace, secrets, serviceAccounts } from "./agent-objects.ts";
export {
  agentTokenSecondsDefault,
  isDueForRenewal,
  readToken,
  requestToken,
} from "./agent-token.ts";
export { AgentTokenRenewer } from "./agent-token-renewer.ts";
