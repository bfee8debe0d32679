/** What-if questions about placement, which the server answers: nothing is stored. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Client } from "@kcp-ts/sdk/client";
import { type PlacementReview, placementReviews, type WorkloadPlacement } from "@kcp-ts/sdk/kinds";

export type PlannedChange = NonNullable<PlacementReview["spec"]["plan"]>;

export interface PlannedMove {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly from: Readonly<Record<string, number>>;
  readonly to: Readonly<Record<string, number>>;
  readonly unscheduled: number;
  readonly reasons: readonly string[];
  readonly rejectedBy: readonly {
    readonly cluster: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

export interface Plan {
  readonly moves: readonly PlannedMove[];
  readonly replicas: number;
  readonly unchanged: number;
  readonly hiddenMoves: number;
}

export interface Explanation {
  readonly policy: readonly string[];
  readonly shortage?: string;
  readonly clusters: readonly {
    readonly name: string;
    readonly desired: number;
    readonly available: number;
    readonly replicas: number;
    readonly capacity?: number;
    readonly reasons: readonly string[];
  }[];
}

/** What a placement places. */
export function workloadOf({ spec, metadata }: WorkloadPlacement) {
  const { apiVersion, kind, name } = spec.workloadRef;
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const { namespace = "" } = metadata;
  const type = group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
  return { group, version, kind, name, namespace, type };
}

async function review(client: Client, spec: PlacementReview["spec"]): Promise<JsonObject> {
  const made = await client.resource(placementReviews).create({ metadata: {}, spec });
  return made.status ?? {};
}

export async function planChange(client: Client, plan: PlannedChange): Promise<Plan> {
  const { plan: result } = await review(client, { plan });
  return result as unknown as Plan;
}

export async function explainPlacement(
  client: Client,
  workload: NonNullable<PlacementReview["spec"]["explain"]>,
): Promise<Explanation | undefined> {
  const { explanation } = await review(client, { explain: workload });
  return explanation as unknown as Explanation | undefined;
}

/** `us-east1 8, us-west1 7`, as kubectl kcp prints it. */
export function assignmentText(shares: Readonly<Record<string, number>>): string {
  const named = Object.entries(shares).filter(([, count]) => count > 0);
  return named.length === 0
    ? "nowhere"
    : named.map(([name, count]) => `${name} ${count}`).join(", ");
}
