/** SyncTargets: from a kubeconfig to a connected cluster, and what is said of its health. */
export { missingAccess } from "./access.ts";
export { boundedTransport } from "./bounded-transport.ts";
export { checkKubeconfig, isProblem, kubeconfigTextMax } from "./check-kubeconfig.ts";
export { diagnose } from "./diagnose.ts";
export { kubeconfigInSecret, type Unseal } from "./kubeconfig-source.ts";
export { describeHeldObject, heldObjectResources } from "./originals.ts";
export { registeredServerAnnotation, serverIn } from "./registered-server.ts";
export { isSealed, type SealContext, seal, sealingKeyBytes, unseal } from "./seal.ts";
export {
  runStatusReporter,
  type StatusReporterOptions,
  statusReportIntervalMs,
} from "./self-report.ts";
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
export type { Problem, ProblemReason } from "./verdict.ts";
