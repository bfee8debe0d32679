export {
  forgetClusterTargets,
  parseRequestTarget,
  type SplitService,
  stripClusterPrefix,
} from "./parse-request-target.ts";
export { type PathDependencies, type PublishedDocuments, servePath } from "./path-routes.ts";
export { kubernetesVersion } from "./version.ts";
