/**
 * SyncTargets: from a kubeconfig to a connected cluster, and the conditions that report its health.
 */
export { missingAccess } from "./access.ts";
export { checkKubeconfig, isProblem, kubeconfigTextMax } from "./check-kubeconfig.ts";
export { diagnose } from "./diagnose.ts";
export { describeHeldObject, heldObjectResources } from "./held-objects.ts";
export { kubeconfigInSecret, type Unseal } from "./kubeconfig-source.ts";
export type { Problem, ProblemReason } from "./problem.ts";
export { registeredServerAnnotation, serverIn } from "./registered-server.ts";
export { isSealed, type SealContext, seal, sealingKeyBytes, unseal } from "./seal.ts";
export {
  runStatusReporter,
  type StatusReporterOptions,
  statusReportIntervalMs,
} from "./status-reporter.ts";
export {
  drainTimeoutMsDefault,
  type IsServerAlive,
  TargetController,
  type TargetControllerOptions,
} from "./target-controller.ts";
export { type LinkSettings, linkDefaults } from "./target-link.ts";
export {
  type DrainHook,
  keyOf,
  type TargetConnection,
  type TargetListener,
  Targets,
} from "./targets.ts";
