/**
 * A workload whose volumes can be in only one cluster runs in that cluster. When it has to leave,
 * one destination cluster gets a copy, and the record names the migration source, so that the
 * volumes follow. While the cluster with the data is Unreachable, no migration starts.
 */
import { stringMember } from "@kcp-ts/sdk";
import { volumeClusterAnnotation } from "../api/index.ts";
import type { DecideInput, EvaluatedCluster } from "./decide.ts";
import { clusterRecordsOf } from "./placement-record.ts";
import type { VolumeMigration } from "./stepper/cluster-share.ts";

export interface SingleClusterPlacement {
  readonly clusters: readonly EvaluatedCluster[];
  readonly migration: VolumeMigration | undefined;
}

export function assignSingleCluster(
  clusters: readonly EvaluatedCluster[],
  { parent, record }: Pick<DecideInput, "parent" | "record">,
  excluded: (evaluatedCluster: EvaluatedCluster) => EvaluatedCluster,
): SingleClusterPlacement {
  const tie = stringMember(parent.metadata.annotations, volumeClusterAnnotation);
  if (tie === undefined || tie === "") return { clusters, migration: undefined };
  const home = clusters.find(({ name }) => name === tie);
  const hasToLeave = home === undefined || leaves.has(home.evaluation.state);
  const to = hasToLeave ? successor(clusters, record, tie) : undefined;
  return {
    clusters: clusters.map((evaluated) =>
      evaluated.name === (to ?? tie) || evaluated.name === tie ? evaluated : excluded(evaluated),
    ),
    migration: to === undefined ? undefined : { from: tie, to },
  };
}

const leaves: ReadonlySet<string> = new Set(["Draining", "Unregistered"]);

/**
 * The migration destination: a cluster that a migration has begun with, otherwise the eligible
 * cluster with the largest weight.
 */
function successor(
  clusters: readonly EvaluatedCluster[],
  record: DecideInput["record"],
  tie: string,
): string | undefined {
  const records = clusterRecordsOf(record);
  const open = clusters.filter(
    ({ name, evaluation, share }) =>
      name !== tie &&
      (evaluation.state === "Ready" || evaluation.state === "Recovering") &&
      share.capacity !== 0 &&
      share.maxReplicas !== 0,
  );
  const begun = open.find(({ name }) => records.get(name)?.migrationSource === tie);
  const weight = ({ share }: EvaluatedCluster) => share.weight ?? 1;
  const heaviest = [...open].sort((a, b) => weight(b) - weight(a) || (a.name < b.name ? -1 : 1))[0];
  return (begun ?? heaviest)?.name;
}
