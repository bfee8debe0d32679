/**
 * Moves of what is there or not, and has no number that could be 0: a bare Pod, a kind of somebody's own that is in one cluster. What is to have none is removed, also where
 * its cluster takes part: one that was lost, and is back, has what was replaced meanwhile.
 */
import { type Plan, type PlanInput, planMoves } from "./plan-moves.ts";

export function planWhole(input: PlanInput): Plan {
  const plan = planMoves(input);
  const next = new Map(plan.next);
  for (const { name, part } of input.members) {
    if (part !== undefined && part.replicas > 0 && next.get(name) === 0) next.set(name, "remove");
  }
  return { ...plan, next };
}
