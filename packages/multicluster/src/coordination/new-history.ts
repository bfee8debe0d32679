/** What a decision leaves on the whole: where it leads, what has to stay where it should not be, and why. Pure. */
import { type InFlightByCluster, inFlightReplicas } from "../scheduling/index.ts";
import type { DecideInput, EvaluatedCluster } from "./decide.ts";
import { retainedReplicas, unreachableCopies } from "./kept-places.ts";
import { type ClusterShare, isToBeDrained } from "./members.ts";
import {
  desiredReplicasIn,
  readPlacementHistory,
  withPlacementRecord,
} from "./placement-history.ts";
import type { Plan } from "./plan-moves.ts";
import { unschedulableReason } from "./verdict.ts";

function isReceiving({ standing }: ClusterShare): boolean {
  return standing === "accepting" || standing === "settling";
}

export interface DecidedPlacement {
  readonly places: readonly EvaluatedCluster[];
  readonly plan: Plan;
  readonly underWay: InFlightByCluster;
}

/** The history of placement with what is decided now; undefined when that is what the newest record says. */
export function nextPlacementHistory(
  { strategy, parent, nowMs }: DecideInput,
  { places, plan, underWay }: DecidedPlacement,
): string | undefined {
  const { goal } = plan;
  const { annotations } = parent.metadata;
  const isCopied = strategy.sharing === "duplicate";
  // What is to leave and may not yet is not what was decided; of replicas, who plans knows.
  const leaving = places.filter(({ member }) => isCopied && isToBeDrained(member));
  const isStaying = (name: string) => !leaving.some((one) => one.name === name);
  const shares = [...goal].filter(([name, share]) => share > 0 && isStaying(name));
  const split = Object.fromEntries(shares.sort(([a], [b]) => (a < b ? -1 : 1)));
  const isFull = ({ member }: EvaluatedCluster) =>
    (goal.get(member.name) ?? 0) >= (member.room ?? Infinity);
  const because = places
    .filter((place) => !isReceiving(place.member) || isFull(place))
    .map(unschedulableReason)
    .filter((text) => text !== undefined);
  const replicas = strategy.asked(parent);
  const [last] = readPlacementHistory(annotations);
  const isNumbered = strategy.sharing === "ordinal";
  // A number between two clusters is in no split.
  const coming = isNumbered ? replicasByCluster(underWay) : {};
  const meant = Math.min(replicas, last === undefined ? 0 : desiredReplicasIn(last));
  const left = isNumbered ? meant - inFlightReplicas(underWay) : meant;
  const keeping = retainedReplicas(places, plan, { meant: left, before: last?.kept });
  const kept = { ...keeping, ...(isCopied ? unreachableCopies(places) : {}) };
  const stays = { ...(isSome(kept) ? { kept } : {}), ...(isSome(coming) ? { coming } : {}) };
  const record = { replicas, split, ...stays, because };
  return withPlacementRecord(annotations, record, nowMs);
}

function replicasByCluster(all: InFlightByCluster): Readonly<Record<string, number>> {
  return Object.fromEntries([...all].map(([cluster, { replicas }]) => [cluster, replicas]));
}

function isSome(shares: Readonly<Record<string, number>>): boolean {
  return Object.keys(shares).length > 0;
}
