export { DownNodes } from "./down-nodes.ts";
export { runHeartbeats } from "./heartbeats.ts";
export { type KubeletOptions, kubeletController } from "./kubelet.ts";
export { bulkLog, type LogQuery, logsOf } from "./logs.ts";
export { nodeLifecycleController } from "./node-lifecycle.ts";
export { type NodeInfo, type NodeOptions, nodeConditions, nodeObject } from "./node-objects.ts";
export { schedulerController } from "./scheduler.ts";
export { nodeMetricsOf, podMetricsOf } from "./usage.ts";
