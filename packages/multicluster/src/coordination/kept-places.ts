/** What a decision leaves where it is though it should not be there: because there is nowhere to go, or because nothing may move. */
import type { EvaluatedCluster } from "./decide.ts";
import { isUnreachable } from "./members.ts";
import { shareIn } from "./placement-history.ts";
import type { Plan } from "./plan-moves.ts";

/** Of what was meant to be somewhere: what has nowhere to go now and stays where it is. What was kept before is kept before what else is there twice. */
export function retainedReplicas(
  places: readonly EvaluatedCluster[],
  { goal, next }: Pick<Plan, "goal" | "next">,
  { meant, before }: { readonly meant: number; readonly before?: Shares | undefined },
): Shares {
  let missing = meant;
  for (const share of goal.values()) missing -= share;
  const kept: Record<string, number> = {};
  if (missing <= 0) return kept;
  const keep = ({ name, member: { part } }: EvaluatedCluster, most: number) => {
    const wanted = next.get(name) ?? part?.replicas ?? 0;
    const left = wanted === "remove" ? 0 : wanted;
    const known = kept[name] ?? 0;
    const more = Math.min(missing, most, left - (goal.get(name) ?? 0) - known);
    if (more <= 0) return;
    kept[name] = known + more;
    missing -= more;
  };
  const there = places
    .filter(({ member }) => member.standing !== "gone" && member.part?.isGoing !== true)
    .sort((a, b) => rank(a) - rank(b));
  for (const place of there) keep(place, shareIn(before, place.name));
  for (const place of there) keep(place, missing);
  return kept;
}

type Shares = Readonly<Record<string, number>>;

/** What a lost cluster has counts last: nobody sees it, and others may have replaced it. */
function rank({ member: { standing } }: EvaluatedCluster): number {
  if (standing === "leaving") return 0;
  return standing === "lost" ? 2 : 1;
}

/** What is in every cluster stays in those that are lost, and is there when they are back. */
export function unreachableCopies(places: readonly EvaluatedCluster[]): Shares {
  const lost = places.filter(
    ({ member }) => isUnreachable(member) && member.part?.isGoing === false,
  );
  return Object.fromEntries(lost.map(({ name, member }) => [name, member.part?.replicas ?? 0]));
}

/** More than there may be: it is there twice, and its move is paused. */
export function isSurplus({ goal }: Plan, placeable: number): boolean {
  return [...goal.values()].reduce((all, share) => all + share, 0) > placeable;
}
