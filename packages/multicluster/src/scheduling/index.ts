/** Scheduling: policy by Locations and Placements, and for every workload and cluster whether it may be there, how much of it, and why. */

export type { Neighbour } from "./affinity.ts";
export { type Amounts, amountsOf, quantitiesOf } from "./amounts.ts";
export {
  type AssessInput,
  type Assessment,
  assess,
  type Bound,
  type Presence,
  type Prospect,
  prospectWeightMax,
  type Quota,
  type Score,
  type Wish,
} from "./assess.ts";
export { type Candidate, candidateOf } from "./candidate.ts";
export { Ledger, type LedgerOptions, type SeenPart, type WholeName } from "./ledger.ts";
export {
  type Allowance,
  allowancesOf,
  type Includes,
  type Instance,
  instancesIn,
  type LocatedLocation,
} from "./located.ts";
export {
  type LocationSaying,
  type NamespaceSaying,
  type PlacementSaying,
  planWorkspace,
  type WorkspacePlan,
  type WorkspaceState,
} from "./plan-workspace.ts";
export {
  type Namespace,
  type NamespaceFacts,
  namespaces,
  Policies,
  type PolicyFacts,
} from "./policies.ts";
export {
  builtIn,
  choosesLocation,
  isAboutNamespace,
  type Level,
  type LocationChoice,
  levelOf,
  type Policy,
  type PolicySubject,
  policyOf,
  type Statement,
  statementsFor,
  type Treatment,
} from "./policy.ts";
export { formatReservation, readReservation } from "./reservation.ts";
export { ReservedController, type ReservedControllerOptions } from "./reserved-controller.ts";
export { noUsage, type Usage } from "./room.ts";
export {
  factsFrom,
  type News,
  Scheduler,
  type SchedulerOptions,
  type SchedulingFacts,
  type Subject,
  seenPart,
} from "./scheduler.ts";
export { selectorOf } from "./selectors.ts";
export {
  type AllUnderWay,
  formatUnderWay,
  readUnderWay,
  type UnderWay,
  underWayAnnotation,
} from "./under-way.ts";
export {
  requestsOf,
  reservationOf,
  type Workload,
  type WorkloadObject,
  type WorkloadShape,
  workloadOf,
} from "./workload.ts";
export { WorkspaceController, type WorkspaceControllerOptions } from "./workspace-controller.ts";
