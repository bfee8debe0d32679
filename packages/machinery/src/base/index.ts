export { AssertionFailed, assert, unreachable } from "./assert.ts";
export { awakeDeadline, awakeGraceMs } from "./awake-deadline.ts";
export type { Brand } from "./brand.ts";
export { type Clock, sleep, systemClock, type Timer } from "./clock.ts";
export { InternPool } from "./intern-pool.ts";
export {
  type LoopFailure,
  type LoopState,
  LoopSupervisor,
  type Supervisor,
} from "./loop-supervisor.ts";
export { neverAborted } from "./never-aborted.ts";
export { onAbort, untilAborted } from "./on-abort.ts";
export { type Random, systemRandom } from "./random.ts";
export {
  isResumable,
  isResumableWorkWaiting,
  LoopPace,
  type MaybeResumable,
  type Resumable,
  runInTurn,
  runSync,
  runSyncFirst,
  runYielding,
  YieldCounter,
  yieldToEventLoop,
} from "./resumable.ts";
export { SlotSet } from "./slot-set.ts";
export { SortedMap } from "./sorted-map.ts";
export { runTogether, type Task, TaskGroup } from "./task-group.ts";
export { TokenBucket } from "./token-bucket.ts";
export { kcpVersion } from "./version.ts";
