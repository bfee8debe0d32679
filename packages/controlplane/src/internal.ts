/**
 * The entry point `@kcp-ts/controlplane/internal`: components of a control plane, for the test
 * server and for tests.
 */
export { readBackupFile, writeBackupFile } from "./backup/index.ts";
export {
  controlLoopsLease,
  type RunningControllers,
  startControllers,
} from "./compose/controllers.ts";
export { ControlPlaneCore, processUser } from "./compose/core.ts";
export { createInternalCredential } from "./compose/internal-credential.ts";
