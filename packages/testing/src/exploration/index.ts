/** Tests that break controllers: fault schedules, crash points and stability. */
export { eventuallyStable, type StableOptions, type WriteCounter } from "./eventually-stable.ts";
export {
  type ControllerRun,
  ExplorationError,
  type ExplorationReport,
  type ExploreOptions,
  exploreFaults,
  type FaultyTest,
  type FaultyWorld,
} from "./explore-faults.ts";
export {
  type FaultPattern,
  type FaultSchedule,
  faultPatterns,
  formatSchedule,
} from "./fault-schedule.ts";
