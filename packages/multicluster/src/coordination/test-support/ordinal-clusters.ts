/** Simulated clusters for histories of ordinals, which apply their specs late. */
import assert from "node:assert/strict";
import type { SeededRandom } from "@kcp-ts/testkit";
import type { ClusterState } from "../cluster-state.ts";
import { dividedOrdinals } from "../stepper/capabilities.ts";
import { type ClusterShare, unlimitedBudget } from "../stepper/cluster-share.ts";
import type { OrdinalVolumes } from "../stepper/move-ordinals.ts";
import type { Plan } from "../stepper/plan.ts";
import { step } from "../stepper/step.ts";

interface DeliveredRange {
  readonly start: number;
  readonly replicas: number;
}

/** The delivered range of a cluster, the observed one, and the running ordinals. */
export class OrdinalCluster {
  delivered: DeliveredRange | undefined;
  observed: DeliveredRange | undefined;
  readonly running = new Set<number>();
  state: ClusterState = "Ready";
  isTrusted = true;
  maxReplicas: number | undefined;
  /** The available ones of the running ordinals; all if undefined. */
  available: number | undefined;

  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /** One step: the cluster observes its range, or stops or starts one ordinal. */
  step(random: SeededRandom): void {
    if (this.state === "Unreachable") return;
    if (random.chance(0.4)) this.observed = this.delivered;
    const { start = 0, replicas = 0 } = this.observed ?? {};
    const wanted = Array.from({ length: replicas }, (_, index) => start + index);
    const surplus = [...this.running].find((one) => !wanted.includes(one));
    const missing = wanted.find((one) => !this.running.has(one));
    if (missing !== undefined && random.chance(0.7)) this.running.add(missing);
    else if (surplus !== undefined && random.chance(0.5)) this.running.delete(surplus);
  }

  get share(): ClusterShare {
    const { name, state, delivered, observed, running, available = running.size } = this;
    const { maxReplicas, isTrusted } = this;
    if (delivered === undefined) return { name, state, maxReplicas, isTrusted };
    const copy = {
      ...delivered,
      running: running.size,
      available,
      isObserved: observed === delivered,
      isStuck: false,
      isDeleting: false,
      isUnmanaged: false,
    };
    return { name, state, maxReplicas, isTrusted, copy };
  }
}

export interface OrdinalRequest {
  readonly replicas: number;
  readonly first?: number;
  readonly volumes?: OrdinalVolumes;
  readonly unavailable?: number;
  /** The limit on ordinals over all clusters. */
  readonly maxTotal?: number;
}

export function plan(
  clusters: readonly OrdinalCluster[],
  { first = 0, volumes, unavailable = 1, ...wished }: OrdinalRequest,
) {
  return step(
    {
      ...wished,
      scaledDownBy: 0,
      ordinals: { first, volumes },
      budget: { ...unlimitedBudget, unavailable },
      clusters: clusters.map(({ share }) => share),
    },
    dividedOrdinals,
  );
}

export function applyPlan(clusters: OrdinalCluster[], wished: OrdinalRequest): Plan {
  const planned = plan(clusters, wished);
  const { next, starts } = planned;
  for (const cluster of [...clusters]) {
    const wanted = next.get(cluster.name);
    if (wanted === undefined) continue;
    if (wanted === "remove") {
      cluster.delivered = undefined;
      cluster.observed = undefined;
      cluster.running.clear();
      continue;
    }
    const start = starts?.get(cluster.name) ?? 0;
    const isSame = cluster.delivered?.replicas === wanted && cluster.delivered.start === start;
    if (!isSame) cluster.delivered = { start, replicas: wanted };
  }
  return planned;
}

export function checkDisjoint(clusters: readonly OrdinalCluster[]): void {
  const observed = new Map<number, string>();
  for (const { name, running } of clusters) {
    for (const ordinal of running) {
      assert.equal(
        observed.get(ordinal),
        undefined,
        `${ordinal} is in ${observed.get(ordinal)} and ${name}`,
      );
      observed.set(ordinal, name);
    }
  }
}
