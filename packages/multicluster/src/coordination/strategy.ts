/**
 * A strategy: all that the coordinator has to know of a kind. What it shares out and how, what a part's spec is, what a cluster's report means, and what
 * the statuses of the parts make of the whole's. Pure; reading and writing is the coordinator's.
 *
 * | sharing   | a cluster's share is                                  | moves                                   |
 * |-----------|-------------------------------------------------------|-----------------------------------------|
 * | divide    | some of the replicas                                  | make before break                       |
 * | duplicate | all of it, in every cluster                           | none: each cluster has its own          |
 * | single    | all of it, in one cluster                             | make before break, or at most one       |
 * | ordinal   | a range of numbers that no other cluster has          | break before make: a number is nowhere twice |
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Client, KubernetesObject, Resource } from "@kcp-ts/sdk";
import type { DecideInput, Decision } from "./decide.ts";
import type { AggregationInput } from "./fold-parts.ts";
import type { Plan, PlanInput } from "./plan-moves.ts";
import type { RevisionKind } from "./revisions.ts";
import type { KindRollout } from "./rolling/form.ts";
import type { Workload } from "./workload.ts";

export type ReplicaScheduling = "divide" | "duplicate" | "single" | "ordinal";

export interface Strategy {
  /** As in `deployments.apps`. */
  readonly name: string;
  readonly sharing: ReplicaScheduling;
  readonly wholes: Resource<Workload>;
  /** The same kind, unless parts are of another one. */
  readonly parts: Resource<Workload>;
  /** Undefined for what cannot be coordinated: clusters define their kinds for themselves. */
  accept(object: KubernetesObject): Workload | undefined;
  acceptPart(object: KubernetesObject): Workload | undefined;
  /** How much the whole asks for. */
  asked(whole: Workload): number;
  shareOf(part: Workload): CopyShare;
  report(part: Workload): CopyReport;
  specFor(whole: Workload, share: CopyShare, cluster: string): JsonObject;
  plan(input: PlanInput, whole: Workload): Plan;
  /** The very status of the whole when nothing changes. */
  fold(input: AggregationInput): object;
  /** Instead of what is done for all kinds. */
  readonly decide?: (input: DecideInput) => Decision;
  readonly relations?: RelatedObjects;
  /** Where logical clusters differ: what counts in one of them, or that it is not coordinated there. */
  readonly inCluster?: (cluster: string) => Strategy | undefined;
  /** Told when what counts in a logical cluster has changed. */
  readonly onChange?: (listener: (cluster: string) => void) => void;
  /** What a whole refers to, where the kind itself does not say it. */
  references?(whole: Workload): readonly string[];
  /** How Pods are replaced when their template changes; where it is left out, edits reach all clusters at once. */
  readonly rolling?: KindRollout;
  /** In what former templates are kept for `kubectl rollout undo`; they are not if left out. */
  readonly history?: RevisionKind<KubernetesObject>;
}

export interface CopyShare {
  readonly replicas: number;
  /** Of a range: its first number. */
  readonly start?: number;
}

/** What a cluster says of its part. */
export interface CopyReport {
  readonly available: number;
  /** How many there are, ready or not, where it matters that some are gone. */
  readonly running?: number;
  /** Whether it is about the newest spec. */
  readonly isObserved: boolean;
  /** The cluster itself has given up on what is not available. */
  readonly isStuck: boolean;
}

/** Other objects that a decision depends on. */
export interface RelatedObjects {
  readonly kinds: readonly Resource<KubernetesObject>[];
  read(client: Client, whole: Workload, signal: AbortSignal): Promise<readonly Workload[]>;
}
