export { DownNodes } from "./down-nodes.ts";
export { runHeartbeats } from "./heartbeats.ts";
export { kubeletController } from "./kubelet.ts";
export { bulkLog, logsOf } from "./logs.ts";
export { nodeLifecycleController } from "./node-lifecycle.ts";
export { type NodeInfo, type NodeOptions, nodeObject } from "./node-objects.ts";
export { schedulerController } from "./scheduler.ts";
export { nodeMetricsOf, podMetricsOf } from "./usage.ts";
