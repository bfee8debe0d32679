/** Volumes of workloads that are in several clusters, or move between them. */
export {
  type ClaimEvent,
  type ClaimState,
  claimEvents,
  claimStates,
  nextClaimState,
} from "./claim-machine.ts";
export {
  type Claim,
  type ClaimDecision,
  decideVolumes,
  type Volume,
  type VolumesDecision,
  type VolumesInput,
  type WorkloadPart,
} from "./decide-volumes.ts";
