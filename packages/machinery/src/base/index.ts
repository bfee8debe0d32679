export { AssertionFailed, assert, unreachable } from "./assert.ts";
export { awakeDeadline, awakeGraceMs } from "./awake-deadline.ts";
export type { Brand } from "./brand.ts";
export { type Clock, sleep, systemClock, type Timer } from "./clock.ts";
export { Interned } from "./interned.ts";
export {
  type LoopFailure,
  type LoopState,
  LoopSupervisor,
  type Supervisor,
} from "./loop-supervisor.ts";
export { neverAborted } from "./never-aborted.ts";
export { onAbort, untilAborted } from "./on-abort.ts";
export { atOnce, isPieces, type MaybePieces, Pace, type Pieces } from "./pieces.ts";
export { type Random, systemRandom } from "./random.ts";
export { Roster } from "./roster.ts";
export { runYielding, yieldToEventLoop } from "./run-yielding.ts";
export { SortedMap } from "./sorted-map.ts";
export { runTogether, type Task, TaskGroup } from "./task-group.ts";
