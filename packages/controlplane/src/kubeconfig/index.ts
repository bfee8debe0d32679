export {
  type AdminKubeconfig,
  formatAdminKubeconfig,
  writeAdminKubeconfig,
} from "./admin-kubeconfig.ts";
export {
  AdminTokenError,
  type AdminTokenPaths,
  type AdminTokens,
  loadOrCreateAdminTokens,
  newToken,
  tokenHash,
} from "./admin-tokens.ts";
