/** Upsynced Pods whose cluster is Unreachable or Unregistered. */
export { unreachablePods } from "./unreachable-pods.ts";
