/** Where a decision leads in the end. For most kinds its plan says so; numbers leave one at a time, so that their steps are taken until there are no more. Pure. */
import type { Decision } from "./decide.ts";
import type { ClusterShare } from "./plan-moves.ts";
import { planOrdinals } from "./plan-ordinals.ts";
import type { Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

export function finalAssignment(
  strategy: Strategy,
  whole: Workload,
  { plan, places, total }: Decision,
): ReadonlyMap<string, number> {
  if (strategy.sharing !== "ordinal" || plan.surplus === 0) return plan.goal;
  const replicas = strategy.asked(whole);
  const first = strategy.shareOf(whole).start ?? 0;
  let members: readonly ClusterShare[] = places.map(({ member }) => member);
  // Taken, given and removed: three steps for each number, and some for those that make room.
  for (let step = 0; step < 10 + replicas * 8; step++) {
    const { next, starts } = planOrdinals({ replicas, first, members, placeable: total?.replicas });
    const after = members.map((member) => stepped(member, next, starts));
    if (after.every((member, index) => member === members[index])) break;
    members = after;
  }
  return new Map(members.map(({ name, part }) => [name, part?.replicas ?? 0]));
}

function stepped(
  member: ClusterShare,
  next: ReadonlyMap<string, number | "remove">,
  starts: ReadonlyMap<string, number> | undefined,
): ClusterShare {
  const wanted = next.get(member.name);
  if (wanted === undefined) return member;
  const { part, ...rest } = member;
  if (wanted === "remove") return rest;
  const start = starts?.get(member.name) ?? part?.start ?? 0;
  if (part?.replicas === wanted && part.start === start && part.available === wanted) return member;
  const idle = { isStuck: false, isGoing: false, isPinned: false, ...part };
  const running = { available: wanted, running: wanted, isObserved: true };
  return { ...member, part: { ...idle, replicas: wanted, start, ...running } };
}
