export { forgetTargets, parseTarget, type Target, withoutCluster } from "./parse-target.ts";
export { type PathRooms, type PublishedDocuments, servePath } from "./path-routes.ts";
export { kubernetesVersion } from "./version.ts";
