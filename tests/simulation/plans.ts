/** What a plan says is what then happens. */
import { type PlacementReviewStatus, placementReviews } from "@kcp-ts/multicluster";
import { BrokenLaw } from "./laws.ts";
import type { Model, WantedWorkload } from "./model.ts";
import type { TenantName } from "./scenario.ts";
import type { SimulatedSystem } from "./simulated-system.ts";

type Shares = Readonly<Record<string, number>>;

export interface ExpectedDrain {
  readonly cluster: string;
  readonly tenant: TenantName;
  readonly shares: ReadonlyMap<WantedWorkload, Shares>;
}

/**
 * Requests the plan of a drain, in a system at rest. A plan does not know what admission refuses,
 * so nothing is expected in a namespace with a quota.
 */
export async function expectDrain(
  system: SimulatedSystem,
  model: Model,
  { tenant, cluster }: { readonly tenant: TenantName; readonly cluster: string },
): Promise<ExpectedDrain | undefined> {
  const review = await system.askNow(tenant, (client) =>
    client
      .resource(placementReviews)
      .create({ metadata: { name: "plan" }, spec: { plan: { drain: cluster } } }),
  );
  const { plan } = (review?.status ?? {}) as PlacementReviewStatus;
  if (plan === undefined || model.quotas.has(tenant)) return undefined;
  const shares = new Map<WantedWorkload, Shares>();
  for (const workload of model.workloads.values()) {
    if (workload.tenant !== tenant || !isPlanned(workload)) continue;
    const move = plan.moves.find(
      ({ kind, name }) => kind === workload.kind && name === workload.name,
    );
    const isMoving = move !== undefined && move.rejectedBy.length === 0;
    shares.set(workload, isMoving ? withoutZeros(move.to) : sharesOf(system, workload));
  }
  return { cluster, tenant, shares };
}

/** A plan takes for granted that replacements become ready. */
function isPlanned({ kind, pinnedTo, isBroken }: WantedWorkload): boolean {
  return (kind === "Deployment" || kind === "StatefulSet") && pinnedTo === undefined && !isBroken;
}

export function checkDrain(system: SimulatedSystem, { cluster, shares }: ExpectedDrain): void {
  for (const [workload, expected] of shares) {
    const actual = sharesOf(system, workload);
    if (text(actual) !== text(expected))
      throw new BrokenLaw(
        "what is planned happens",
        `the plan of a drain of ${cluster} says that ${workload.kind} ${workload.name} is in ${text(expected)}, and it is in ${text(actual)}`,
      );
  }
}

function sharesOf(system: SimulatedSystem, { tenant, name }: WantedWorkload): Shares {
  const shares: Record<string, number> = {};
  for (const { name: cluster, observer } of system.clusters.values())
    for (const one of observer.workloads.values())
      if (one.tenant === tenant && one.workload === name && one.pods > 0)
        shares[cluster] = (shares[cluster] ?? 0) + one.pods;
  return shares;
}

function withoutZeros(shares: Shares): Shares {
  return Object.fromEntries(Object.entries(shares).filter(([, count]) => count > 0));
}

function text(shares: Shares): string {
  const parts = Object.entries(shares).sort(([a], [b]) => (a < b ? -1 : 1));
  return parts.map(([cluster, count]) => `${cluster} ${count}`).join(", ") || "no cluster";
}
