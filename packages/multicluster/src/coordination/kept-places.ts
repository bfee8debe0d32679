/** What a decision leaves where it is though it should not be there: because there is nowhere to go, or because nothing may move. */
import type { Place } from "./decide.ts";
import { isLeftAlone } from "./members.ts";
import type { Plan } from "./plan-moves.ts";

/** Of what was meant to be somewhere: what has nowhere to go now and stays where it is. */
export function keptOf(
  places: readonly Place[],
  { goal, next }: Pick<Plan, "goal" | "next">,
  meant: number,
): Readonly<Record<string, number>> {
  let missing = meant;
  for (const share of goal.values()) missing -= share;
  const kept: Record<string, number> = {};
  // What a lost cluster has counts last: nobody sees it, and others may have replaced it.
  const rank = ({ member: { standing } }: Place) =>
    standing === "leaving" ? 0 : standing === "lost" ? 2 : 1;
  for (const { name, member } of [...places].sort((a, b) => rank(a) - rank(b))) {
    const { standing, part } = member;
    if (standing === "gone" || part?.isGoing === true) continue;
    const wanted = next.get(name) ?? part?.replicas ?? 0;
    const left = wanted === "remove" ? 0 : wanted;
    const more = Math.min(missing, left - (goal.get(name) ?? 0));
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

/** More than there may be: it is there twice, and its move is paused. */
export function isMore({ goal }: Plan, placeable: number): boolean {
  return [...goal.values()].reduce((all, share) => all + share, 0) > placeable;
}
