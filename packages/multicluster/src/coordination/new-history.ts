/** What a decision leaves on the whole: where it leads, what has to stay where it should not be, and why. Pure. */
import { type AllUnderWay, replicasUnderWay } from "../scheduling/index.ts";
import type { DecideInput, Place } from "./decide.ts";
import { keptOf, lostCopies } from "./kept-places.ts";
import { isToBeEmptied, type Member } from "./members.ts";
import { meantBy, readPlacementHistory, withPlacementRecord } from "./placement-history.ts";
import type { Plan } from "./plan-moves.ts";
import { obstacle } from "./verdict.ts";

function isReceiving({ standing }: Member): boolean {
  return standing === "accepting" || standing === "settling";
}

export interface Decided {
  readonly places: readonly Place[];
  readonly plan: Plan;
  readonly underWay: AllUnderWay;
}

/** The history of placement with what is decided now; undefined when that is what the newest record says. */
export function newHistory(
  { strategy, parent, nowMs }: DecideInput,
  { places, plan, underWay }: Decided,
): string | undefined {
  const { goal } = plan;
  const { annotations } = parent.metadata;
  const isCopied = strategy.sharing === "duplicate";
  // What is to leave and may not yet is not what was decided; of replicas, who plans knows.
  const leaving = places.filter(({ member }) => isCopied && isToBeEmptied(member));
  const isStaying = (name: string) => !leaving.some((one) => one.name === name);
  const shares = [...goal].filter(([name, share]) => share > 0 && isStaying(name));
  const split = Object.fromEntries(shares.sort(([a], [b]) => (a < b ? -1 : 1)));
  const isFull = ({ member }: Place) => (goal.get(member.name) ?? 0) >= (member.room ?? Infinity);
  const because = places
    .filter((place) => !isReceiving(place.member) || isFull(place))
    .map(obstacle)
    .filter((text) => text !== undefined);
  const replicas = strategy.asked(parent);
  const [last] = readPlacementHistory(annotations);
  const isNumbered = strategy.sharing === "ordinal";
  // A number between two clusters is in no split.
  const coming = isNumbered ? replicasByCluster(underWay) : {};
  const meant = Math.min(replicas, last === undefined ? 0 : meantBy(last));
  const left = isNumbered ? meant - replicasUnderWay(underWay) : meant;
  const keeping = keptOf(places, plan, { meant: left, before: last?.kept });
  const kept = { ...keeping, ...(isCopied ? lostCopies(places) : {}) };
  const stays = { ...(isSome(kept) ? { kept } : {}), ...(isSome(coming) ? { coming } : {}) };
  const record = { replicas, split, ...stays, because };
  return withPlacementRecord(annotations, record, nowMs);
}

function replicasByCluster(all: AllUnderWay): Readonly<Record<string, number>> {
  return Object.fromEntries([...all].map(([cluster, { replicas }]) => [cluster, replicas]));
}

function isSome(shares: Readonly<Record<string, number>>): boolean {
  return Object.keys(shares).length > 0;
}
