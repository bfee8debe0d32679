/**
 * The entry point `kcp-ts/sdk`: the building blocks of controllers and other clients of an API
 * server.
 */
export {
  type Clock,
  type Random,
  sleep,
  systemClock,
  systemRandom,
  type Timer,
} from "@kcp-ts/machinery/base";
export type {
  JsonObject,
  JsonValue,
} from "@kcp-ts/machinery/json";
export {
  type ClusterName,
  parseClusterName,
  rootCluster,
} from "@kcp-ts/machinery/names";
export {
  isStatusError,
  StatusError,
} from "@kcp-ts/machinery/status";
export * from "@kcp-ts/sdk";
