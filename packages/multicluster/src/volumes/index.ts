/** Volumes of workloads that are in several clusters, or move between them. */
export {
  type PlannedUser,
  predictVolumeRefusals,
  type RefusedClaim,
  type Storage,
} from "./forecast.ts";
export {
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeSnapshotClasses,
} from "./objects.ts";
export { volumes } from "./volumes.ts";
