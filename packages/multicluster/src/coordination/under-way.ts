/**
 * What a decision takes away from one cluster before it is in another: at most one, one number at a time, or as the budget has it. Parts say what they reserve, and of what is between two of
 * them nobody would know when the process that moves it ends: whoever waits for room would have it, and a bound that is lowered just then, too. So the whole says it before anything is taken
 * away, until it has arrived. Only where Locations bound what there may be; elsewhere there is always room. Pure.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { StringMap } from "@kcp-ts/sdk";
import { workloadsResource } from "../api/index.ts";
import {
  type AllUnderWay,
  formatUnderWay,
  readUnderWay,
  reservationOf,
  type UnderWay,
  underWayAnnotation,
} from "../scheduling/index.ts";
import type { Decision, Place } from "./decide.ts";
import type { Plan } from "./plan-moves.ts";

export interface Moving {
  readonly annotations: StringMap | undefined;
  readonly places: readonly Place[];
  readonly plan: Pick<Plan, "next" | "goal">;
  /** So many are asked for, and may be. */
  readonly placeable: number;
  /** Where it goes is decided when it is its turn. */
  readonly isNumbered: boolean;
  /** What each replica asks for. */
  readonly requests: UnderWay["reserved"];
  readonly isBounded: boolean;
  /** Whether parts are to be written. */
  readonly isWriting: boolean;
}

/** What is to be said on the whole, and be so before its parts are touched; nothing where that is said already. */
export function sayUnderWay(moving: Moving): Pick<Decision, "annotations" | "obsolete"> {
  const said = readUnderWay(moving.annotations);
  if (!moving.isBounded && said.size === 0) return {};
  const all = moving.isBounded ? underWayOf(moving, said) : new Map<string, UnderWay>();
  // What arrives is taken back when it has arrived.
  if (moving.isWriting && sumOf(all) <= sumOf(said)) return {};
  if (isSame(all, said)) return {};
  if (all.size === 0) return { obsolete: [underWayAnnotation] };
  return { annotations: { [underWayAnnotation]: formatUnderWay(all) } };
}

/** As many as were there, or on their way, and are wanted, and will not be in any cluster after this step. */
function underWayOf(moving: Moving, said: AllUnderWay): AllUnderWay {
  const { places, plan, placeable, isNumbered, requests } = moving;
  const [before, after] = [sumIn(places, hasOf), sumIn(places, (one) => willHave(one, plan))];
  let left = Math.min(placeable, before + sumOf(said)) - after;
  const all = new Map<string, UnderWay>();
  const put = ({ name, member }: Place, most: number) => {
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

function sumIn(places: readonly Place[], amountOf: (place: Place) => number): number {
  return places.filter(isInSight).reduce((sum, one) => sum + amountOf(one), 0);
}

/** What is lost is replaced, and so counts as little as what never was. */
function isInSight({ member: { standing } }: Place): boolean {
  return standing !== "lost" && standing !== "gone";
}

function hasOf({ member: { part } }: Place): number {
  return part === undefined || part.isGoing ? 0 : part.replicas;
}

function willHave(place: Place, { next }: Pick<Plan, "next">): number {
  const wanted = next.get(place.name);
  if (wanted === undefined) return hasOf(place);
  return wanted === "remove" ? 0 : wanted;
}

function sumOf(all: AllUnderWay): number {
  let sum = 0;
  for (const { replicas } of all.values()) sum += replicas;
  return sum;
}

function isSame(one: AllUnderWay, other: AllUnderWay): boolean {
  const textOf = (all: AllUnderWay) => JSON.parse(formatUnderWay(all)) as JsonValue;
  return jsonEqual(textOf(one), textOf(other));
}
