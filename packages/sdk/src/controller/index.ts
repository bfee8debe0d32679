/** Controllers: reconcile loops over one cluster, all logical clusters, or a ClusterSet. */
export { CachedReader } from "./cached-reader.ts";
export type { Change } from "./change.ts";
export { ClusterSet, type ClusterSetOptions, UnknownClusterError } from "./cluster-set.ts";
export {
  AllClustersError,
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
export { controlledBy } from "./controlled-by.ts";
export {
  Controller,
  type ControllerOptions,
  initialPriority,
  type ReadSettings,
  type ReconcileContext,
  type ReconcileResult,
  type RunOptions,
  TerminalError,
  type WatchSettings,
} from "./controller.ts";
export {
  type BindOptions,
  type BuilderOptions,
  ControllerBuilder,
  type ControllerDefinition,
  type ControllerForOptions,
  controllerFor,
  type ObjectContext,
} from "./controller-for.ts";
export {
  type Event,
  type EventInput,
  EventRecorder,
  type EventRecorderOptions,
  events,
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
export {
  type HealthCheck,
  HealthChecks,
  type HealthReport,
  type ReportOptions,
} from "./health.ts";
export { LeadershipLostError, Manager, type ManagerOptions } from "./manager.ts";
export {
  enqueueByLabel,
  enqueueOwner,
  enqueueSelf,
  type Mapping,
  type OwnerOptions,
} from "./mapping.ts";
export { type OperationsOptions, type OperationsResponse, serveOperations } from "./operations.ts";
export {
  allOf,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelsChanged,
  type Predicate,
} from "./predicates.ts";
