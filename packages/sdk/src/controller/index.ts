/** Controllers: reconcile loops over one cluster, all logical clusters, or a fleet. */
export type { Change } from "./change.ts";
export {
  type Clusters,
  type ClustersOptions,
  logicalClusters,
  type ObjectSource,
  singleCluster,
} from "./clusters.ts";
export {
  type Condition,
  type ConditionInput,
  findCondition,
  isConditionTrue,
  setCondition,
  timestamp,
} from "./condition.ts";
export {
  Controller,
  type ControllerOptions,
  initialPriority,
  type ReconcileContext,
  type ReconcileResult,
  type RunOptions,
  TerminalError,
  type WatchSettings,
} from "./controller.ts";
export {
  type Event,
  EventRecorder,
  type EventRecorderOptions,
  events,
  type Happening,
  type ObjectReference,
} from "./event-recorder.ts";
export { type ExportConsumersOptions, exportConsumers } from "./export-consumers.ts";
export {
  addFinalizer,
  type FinalizerOptions,
  hasFinalizer,
  isBeingDeleted,
  removeFinalizer,
  withFinalizer,
} from "./finalizer.ts";
export { Fleet, type FleetOptions, NotAMember } from "./fleet.ts";
export {
  type HealthCheck,
  HealthChecks,
  type HealthReport,
  type ReportOptions,
} from "./health.ts";
export { LeadershipLost, Manager, type ManagerOptions } from "./manager.ts";
export {
  enqueueByLabel,
  enqueueOwner,
  enqueueSelf,
  type Mapping,
  type OwnerOptions,
} from "./mapping.ts";
export { answerOperations, type OperationsAnswer, type OperationsOptions } from "./operations.ts";
export {
  allOf,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelsChanged,
  type Predicate,
} from "./predicates.ts";
