/** A supervisor for tests: a loop that fails makes the test fail. */
import { type Clock, type LoopFailure, LoopSupervisor } from "@kcp-ts/machinery/base";
import { SeededRandom } from "./seeded-random.ts";

export function supervisorFor(
  clock: Clock,
  onDown: (failure: LoopFailure) => void = ({ error }) => {
    throw error;
  },
): LoopSupervisor {
  return new LoopSupervisor({ clock, random: new SeededRandom(1), onDown });
}
