/** What becomes of copies when the cluster they are from cannot be seen, or is none of ours any more. */
export {
  type UnreachablePods,
  type UnreachablePodsOptions,
  unreachablePods,
} from "./lost-copies.ts";
