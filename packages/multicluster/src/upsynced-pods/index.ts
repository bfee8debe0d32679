/** Upsynced Pods whose cluster is Unreachable or Unregistered. */
export {
  type UnreachablePods,
  type UnreachablePodsOptions,
  unreachablePods,
} from "./unreachable-pods.ts";
