/**
 * SyncTargets: from a kubeconfig to a connected cluster, and the conditions that report its health.
 */
export { checkKubeconfig, isProblem } from "./check-kubeconfig.ts";
export type { ConnectFunction } from "./connect-cluster.ts";
export { diagnose } from "./diagnose.ts";
export { describeHeldObject } from "./held-objects.ts";
export { kubeconfigInSecret, type Unseal } from "./kubeconfig-source.ts";
export { registeredServerAnnotation, serverIn } from "./registered-server.ts";
export { isSealed, type SealContext, seal, sealingKeyBytes, unseal } from "./seal.ts";
export { runStatusReporter } from "./status-reporter.ts";
export { type IsServerAlive, TargetController } from "./target-controller.ts";
export type { LinkSettings } from "./target-link.ts";
export { type DrainHook, keyOf, type TargetConnection, Targets } from "./targets.ts";
