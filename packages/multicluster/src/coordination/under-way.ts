/**
 * What a decision takes away from one cluster before it is in another: at most one, one number at a time, or as the budget has it. Parts say what they reserve, and of what is between two of
 * them nobody would know when the process that moves it ends: whoever waits for room would have it, and a bound that is lowered just then, too. So the whole says it before anything is taken
 * away, until it has arrived. Only where Locations bound what there may be; elsewhere there is always room. Pure.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { workloadsResource } from "../api/index.ts";
import {
  formatInFlight,
  type InFlightByCluster,
  type InFlightReplicas,
  inFlightAnnotation,
  inFlightReplicas,
  reservationOf,
} from "../scheduling/index.ts";
import type { Decision, EvaluatedCluster } from "./decide.ts";
import type { Plan } from "./plan-moves.ts";

export interface MoveInProgress {
  /** What the whole says. */
  readonly said: InFlightByCluster;
  readonly places: readonly EvaluatedCluster[];
  readonly plan: Pick<Plan, "next" | "goal">;
  /** So many are asked for, and may be. */
  readonly placeable: number;
  /** Where it goes is decided when it is its turn. */
  readonly isNumbered: boolean;
  /** What each replica asks for. */
  readonly requests: InFlightReplicas["reserved"];
  readonly isBounded: boolean;
}

/** What is to be said on the whole, and be so before its parts are touched; nothing where that is said already. */
export function inFlightAnnotations(
  all: InFlightByCluster,
  said: InFlightByCluster,
  /** Whether parts are to be written. */
  isWriting: boolean,
): Pick<Decision, "annotations" | "obsolete"> {
  // What arrives is taken back when it has arrived.
  if (isWriting && inFlightReplicas(all) <= inFlightReplicas(said)) return {};
  if (isSame(all, said)) return {};
  if (all.size === 0) return { obsolete: [inFlightAnnotation] };
  return { annotations: { [inFlightAnnotation]: formatInFlight(all) } };
}

/** As many as were there, or on their way, and are wanted, and will not be in any cluster after this step. */
export function inFlightAfter(moving: MoveInProgress): InFlightByCluster {
  const { said, places, plan, placeable, isNumbered, requests } = moving;
  if (!moving.isBounded) return new Map();
  const [before, after] = [sumIn(places, hasOf), sumIn(places, (one) => willHave(one, plan))];
  let left = Math.min(placeable, before + inFlightReplicas(said)) - after;
  const all = new Map<string, InFlightReplicas>();
  const put = ({ name, member }: EvaluatedCluster, most: number) => {
    const replicas = Math.min(left, most);
    if (replicas <= 0) return;
    left -= replicas;
    const sum = replicas + (all.get(name)?.replicas ?? 0);
    const reserved = new Map(reservationOf(requests, sum));
    // The part that is there is counted itself.
    if (member.part !== undefined) reserved.delete(workloadsResource);
    all.set(name, { replicas: sum, reserved });
  };
  for (const place of places) put(place, (plan.goal.get(place.name) ?? 0) - willHave(place, plan));
  const [somewhere] = isNumbered ? places.filter(isInSight) : [];
  if (somewhere !== undefined) put(somewhere, left);
  return all;
}

function sumIn(
  places: readonly EvaluatedCluster[],
  amountOf: (place: EvaluatedCluster) => number,
): number {
  return places.filter(isInSight).reduce((sum, one) => sum + amountOf(one), 0);
}

/** What is lost is replaced, and so counts as little as what never was. */
function isInSight({ member: { standing } }: EvaluatedCluster): boolean {
  return standing !== "lost" && standing !== "gone";
}

function hasOf({ member: { part } }: EvaluatedCluster): number {
  return part === undefined || part.isGoing ? 0 : part.replicas;
}

function willHave(place: EvaluatedCluster, { next }: Pick<Plan, "next">): number {
  const wanted = next.get(place.name);
  if (wanted === undefined) return hasOf(place);
  return wanted === "remove" ? 0 : wanted;
}

function isSame(one: InFlightByCluster, other: InFlightByCluster): boolean {
  if (one.size === 0 || other.size === 0) return one.size === other.size;
  const textOf = (all: InFlightByCluster) => JSON.parse(formatInFlight(all)) as JsonValue;
  return jsonEqual(textOf(one), textOf(other));
}
