/**
 * Supplies the sources that flow control declares, from stored objects: FlowSchemas,
 * PriorityLevelConfigurations, and the usage of a cluster.
 */

export { ClusterStorageQuota } from "./cluster-storage-quota.ts";
export { FlowControlConfigController } from "./flow-control-config-controller.ts";
