export {
  forgetTargets,
  parseTarget,
  type ServiceSplit,
  type SplitService,
  type Target,
  withoutCluster,
} from "./parse-target.ts";
export { type PathRooms, type PublishedDocuments, servePath } from "./path-routes.ts";
export { kubernetesVersion } from "./version.ts";
