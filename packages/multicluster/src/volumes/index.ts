/** Volumes of workloads that are in several clusters, or move between them. */
export {
  type ClaimEvent,
  type ClaimState,
  claimEvents,
  claimStates,
  nextClaimState,
} from "./claim-machine.ts";
export {
  type ForecastOptions,
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
export { type UsedTargets, type Volumes, type VolumesOptions, volumes } from "./volumes.ts";
