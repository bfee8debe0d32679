/** For histories of numbers: clusters that carry out late what they are told. */
import assert from "node:assert/strict";
import type { SeededRandom } from "@kcp-ts/testkit";
import type { ClusterShare } from "../plan-moves.ts";
import { type OrdinalPlan, type OrdinalVolumes, planOrdinals } from "../plan-ordinals.ts";
import type { ClusterState } from "../standing.ts";

interface DeliveredRange {
  readonly start: number;
  readonly replicas: number;
}

/** What a cluster was told, has heard of it, and runs. */
export class OrdinalCluster {
  told: DeliveredRange | undefined;
  heard: DeliveredRange | undefined;
  readonly running = new Set<number>();
  standing: ClusterState = "accepting";
  isTrusted = true;
  room: number | undefined;
  /** Of those that run; all if undefined. */
  available: number | undefined;

  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /** One step: it hears, or stops one, or starts one. */
  step(random: SeededRandom): void {
    if (this.standing === "lost") return;
    if (random.chance(0.4)) this.heard = this.told;
    const { start = 0, replicas = 0 } = this.heard ?? {};
    const wanted = Array.from({ length: replicas }, (_, index) => start + index);
    const surplus = [...this.running].find((one) => !wanted.includes(one));
    const missing = wanted.find((one) => !this.running.has(one));
    if (missing !== undefined && random.chance(0.7)) this.running.add(missing);
    else if (surplus !== undefined && random.chance(0.5)) this.running.delete(surplus);
  }

  get member(): ClusterShare {
    const { name, standing, told, heard, running, available = running.size } = this;
    const { room, isTrusted } = this;
    if (told === undefined) return { name, standing, room, isTrusted };
    const part = {
      ...told,
      running: running.size,
      available,
      isObserved: heard === told,
      isStuck: false,
      isGoing: false,
      isPinned: false,
    };
    return { name, standing, room, isTrusted, part };
  }
}

export interface OrdinalRequest {
  readonly replicas: number;
  readonly first?: number;
  readonly volumes?: OrdinalVolumes;
  readonly unavailable?: number;
  /** How many there may be in all clusters together. */
  readonly placeable?: number;
}

export function plan(places: readonly OrdinalCluster[], { first = 0, ...wished }: OrdinalRequest) {
  return planOrdinals({ ...wished, first, members: places.map(({ member }) => member) });
}

export function applyPlan(places: OrdinalCluster[], wished: OrdinalRequest): OrdinalPlan {
  const planned = plan(places, wished);
  const { next, starts } = planned;
  for (const place of [...places]) {
    const wanted = next.get(place.name);
    if (wanted === undefined) continue;
    if (wanted === "remove") {
      place.told = undefined;
      place.heard = undefined;
      place.running.clear();
      continue;
    }
    const start = starts?.get(place.name) ?? 0;
    const isSame = place.told?.replicas === wanted && place.told.start === start;
    if (!isSame) place.told = { start, replicas: wanted };
  }
  return planned;
}

export function checkDisjoint(places: readonly OrdinalCluster[]): void {
  const seen = new Map<number, string>();
  for (const { name, running } of places) {
    for (const ordinal of running) {
      assert.equal(
        seen.get(ordinal),
        undefined,
        `${ordinal} is in ${seen.get(ordinal)} and ${name}`,
      );
      seen.set(ordinal, name);
    }
  }
}
