export {
  consoleSite,
  createLog,
  type LogFormat,
  type LogOptions,
  type Primary,
  replicationPath,
  storeHeader,
} from "@kcp-ts/apiserver";
export {
  type Manifest,
  ManifestError,
  parseManifests,
  readManifests,
  toYaml,
} from "@kcp-ts/apiserver/manifests";
export {
  agentImageDefault,
  type PhysicalClusterOptions,
  runPhysicalClusters,
} from "@kcp-ts/multicluster-server";
export { shareCredentials } from "@kcp-ts/pki";
export {
  type BackupContext,
  type BackupOptions,
  type BackupResult,
  backup,
  type Progress,
  type RestoreOptions,
  type RestoreResult,
  restore,
} from "./backup/index.ts";
export type {
  ControllerContext,
  ControllerProgram,
  Extensions,
  Handle,
  Middleware,
} from "./compose/extensions.ts";
export {
  inLogicalCluster,
  overLogicalClusters,
  type SimpleController,
} from "./compose/simple-controller.ts";
export {
  type ControlPlane,
  type ControlPlaneContext,
  startControlPlane,
} from "./control-plane.ts";
export {
  type AuditOptions,
  type ControlPlaneOptions,
  controlPlaneDefaults,
  OptionsError,
  type StorageOptions,
} from "./options.ts";
export { followPrimary } from "./standby.ts";
