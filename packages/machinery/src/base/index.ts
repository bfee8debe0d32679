export { AssertionFailed, assert, unreachable } from "./assert.ts";
export type { Brand } from "./brand.ts";
export { type Clock, sleep, systemClock, type Timer } from "./clock.ts";
export { Interned } from "./interned.ts";
export { onAbort, untilAborted } from "./on-abort.ts";
export { atOnce, Pace, type Pieces } from "./pieces.ts";
export { type Random, systemRandom } from "./random.ts";
export { Roster } from "./roster.ts";
export { SortedMap } from "./sorted-map.ts";
