/**
 * A strategy: the coordinator's knowledge of a kind. It defines how replicas are distributed, the
 * spec of a copy, the meaning of a cluster's report, and the aggregation of statuses. Pure; the
 * coordinator reads and writes.
 *
 * | unit       | a cluster has                            | moves                              |
 * |------------|------------------------------------------|------------------------------------|
 * | Replica    | some of the replicas                     | StartBeforeStop                    |
 * | Everywhere | a complete copy, as every cluster        | none: each cluster has its own     |
 * | Single     | the complete workload, alone             | StartBeforeStop or StopBeforeStart |
 * | Ordinal    | an ordinal range that no other has       | StopBeforeStart for each ordinal   |
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Client, KubernetesObject, Resource } from "@kcp-ts/sdk";
import type { DecideInput, Decision } from "./decide.ts";
import type { RevisionKind } from "./revisions.ts";
import type { KindRollout } from "./rollout/kind-rollout.ts";
import type { AggregationInput } from "./status-aggregation.ts";
import type { StepCapabilities } from "./stepper/capabilities.ts";
import type { OrdinalOptions } from "./stepper/move-ordinals.ts";
import type { Workload } from "./workload.ts";

export interface Strategy {
  /** The resource, such as `deployments.apps`. */
  readonly name: string;
  /** How the kind moves; `capabilitiesOf` where it depends on the workload. */
  readonly capabilities: StepCapabilities;
  capabilitiesOf?(workload: Workload): StepCapabilities;
  readonly workloads: Resource<Workload>;
  /**
   * The resource of the per-cluster objects; the workload's own, unless they are of another kind.
   */
  readonly copies: Resource<Workload>;
  /**
   * The object as a workload; undefined if it cannot be coordinated: clusters define their kinds
   * themselves.
   */
  accept(object: KubernetesObject): Workload | undefined;
  acceptCopy(object: KubernetesObject): Workload | undefined;
  /** The template of the Pods that each replica runs, where its kind does not define it. */
  podTemplate?(workload: Workload): JsonObject | undefined;
  /**
   * The time that the author gives new replicas to become available, by a field of the kind itself:
   * the default of moves. Templates that are late are the author's to correct.
   */
  progressDeadlineSecondsOf?(workload: Workload): number | undefined;
  /** The replicas that the workload requests. */
  desiredReplicas(workload: Workload): number;
  shareOf(copy: Workload): CopyShare;
  statusReportOf(copy: Workload): CopyReport;
  specFor(workload: Workload, share: CopyShare, cluster: string): JsonObject;
  /** The aggregated status; the workload's identical status object when nothing changes. */
  aggregateStatus(input: AggregationInput): object;
  /** The first ordinal of the workload, and where the volumes of its ordinals are. */
  ordinalsOf?(input: DecideInput): OrdinalOptions;
  /** Replaces the common decision of all kinds. */
  readonly decide?: (input: DecideInput) => Decision;
  readonly relatedObjects?: RelatedObjects;
  /**
   * The strategy that applies in a logical cluster; undefined when the kind is not coordinated
   * there.
   */
  readonly inCluster?: (cluster: string) => Strategy | undefined;
  /** Called when the strategy of a logical cluster has changed. */
  readonly onChange?: (listener: (cluster: string) => void) => void;
  /** The dependencies of a workload, where its kind does not define them. */
  dependencies?(workload: Workload): readonly string[];
  /**
   * How Pods are replaced when their template changes; without it, edits reach all clusters at
   * once.
   */
  readonly rollout?: KindRollout;
  /** The kind that stores former templates for `kubectl rollout undo`; no history if omitted. */
  readonly revisions?: RevisionKind<KubernetesObject>;
}

export interface CopyShare {
  readonly replicas: number;
  /** The first ordinal of a range. */
  readonly start?: number;
}

/** A cluster's report of its copy. */
export interface CopyReport {
  readonly available: number;
  /** Existing replicas, ready or not, for kinds where their termination matters. */
  readonly running?: number;
  /** Whether the report is about the newest spec. */
  readonly isObserved: boolean;
  /** The unavailable replicas failed the progress deadline of the cluster itself. */
  readonly isStuck: boolean;
}

/** Other objects that a decision depends on. */
export interface RelatedObjects {
  readonly kinds: readonly Resource<KubernetesObject>[];
  read(client: Client, workload: Workload, signal: AbortSignal): Promise<readonly Workload[]>;
}
