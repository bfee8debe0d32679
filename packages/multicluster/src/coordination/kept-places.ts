/** What a decision leaves where it is though it should not be there: because there is nowhere to go, or because nothing may move. */
import type { Bound } from "../scheduling/index.ts";
import type { Place } from "./decide.ts";
import { isLeftAlone } from "./members.ts";
import type { Plan } from "./plan-moves.ts";

/** Of what was meant to be somewhere: what has nowhere to go now and stays where it is. */
export function keptOf(
  places: readonly Place[],
  goal: ReadonlyMap<string, number>,
  meant: number,
): Readonly<Record<string, number>> {
  let missing = meant;
  for (const share of goal.values()) missing -= share;
  const kept: Record<string, number> = {};
  for (const { name, member } of places) {
    const { standing, part } = member;
    if (standing === "gone" || part?.isGoing === true) continue;
    const more = Math.min(missing, (part?.replicas ?? 0) - (goal.get(name) ?? 0));
    if (more <= 0) continue;
    kept[name] = more;
    missing -= more;
  }
  return kept;
}

/** What is in every cluster stays in those that are lost, and is there when they are back. */
export function lostCopies(places: readonly Place[]): Readonly<Record<string, number>> {
  const lost = places.filter(({ member }) => isLeftAlone(member) && member.part?.isGoing === false);
  return Object.fromEntries(lost.map(({ name, member }) => [name, member.part?.replicas ?? 0]));
}

/** More than may be there: it is there twice, and its move is paused. */
export function isMore({ goal }: Plan, total: Bound | undefined): boolean {
  const sum = [...goal.values()].reduce((all, share) => all + share, 0);
  return total !== undefined && sum > total.replicas;
}
