/** The entry point `@kcp-ts/testing`: an API server inside a test. */

export type {
  ControllerContext,
  ControllerProgram,
  Extensions,
  Handle,
  Middleware,
} from "@kcp-ts/controlplane";
export { type EventuallyOptions, eventually, FakeClock, flushEventLoop } from "@kcp-ts/testkit";
export { eventuallyStable, type StableOptions, type WriteCounter } from "./eventually-stable.ts";
export {
  type ControllerRun,
  ExplorationError,
  type ExplorationReport,
  type ExploreOptions,
  exploreFaults,
  type FaultyEnvironment,
  type FaultyTest,
} from "./explore-faults.ts";
export {
  type ExploreObjectsOptions,
  exploreObjects,
  ObjectsError,
  type ObjectsReport,
} from "./explore-objects.ts";
export {
  type FaultPattern,
  type FaultSchedule,
  faultPatterns,
  formatSchedule,
  type ScheduledFault,
} from "./fault-schedule.ts";
export {
  type GeneratedObject,
  type GenerateOptions,
  generateObjects,
} from "./generate-objects.ts";
export {
  type ActiveFault,
  type CrdSource,
  type CustomResourceDefinition,
  customResourceDefinitions,
  type Fault,
  type FaultStatus,
  Faults,
  InjectedFault,
  type KubeconfigOptions,
  type ListenOptions,
  type RequestMatch,
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
  type TestListener,
} from "./internal.ts";
