/**
 * The entry point `kcp-ts/client`: what of `kcp-ts/sdk` needs no Node, for browsers and other
 * runtimes. Its transport is `fetch`.
 */
export { type Clock, type Random, sleep, systemClock, systemRandom } from "@kcp-ts/machinery/base";
export type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
export { type ClusterName, parseClusterName, rootCluster } from "@kcp-ts/machinery/names";
export { isStatusError, StatusError } from "@kcp-ts/machinery/status";
export * from "@kcp-ts/sdk/client";
// Informers have a type of that name, too.
export { ObservedObject } from "@kcp-ts/sdk/client";
export * from "@kcp-ts/sdk/controller";
export * from "@kcp-ts/sdk/discovery";
export * from "@kcp-ts/sdk/informer";
export * from "@kcp-ts/sdk/leader-election";
export * from "@kcp-ts/sdk/metrics";
export * from "@kcp-ts/sdk/work-queue";
