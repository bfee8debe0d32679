/**
 * A workload whose volumes can be in one cluster only is in that one cluster. When it has to leave it, another one takes over: it alone gets a part, and says
 * whom it takes over from, so that volumes follow. While the cluster with the data cannot be seen, nobody takes over.
 */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { migrationSourceAnnotation, volumeClusterAnnotation } from "../api/index.ts";
import type { EvaluatedCluster } from "./decide.ts";
import type { VolumeMigration } from "./members.ts";

export interface SingleClusterPlacement {
  readonly places: readonly EvaluatedCluster[];
  readonly takeover: VolumeMigration | undefined;
}

export function placeInSingleCluster(
  places: readonly EvaluatedCluster[],
  annotations: StringMap | undefined,
  excluded: (place: EvaluatedCluster) => EvaluatedCluster,
): SingleClusterPlacement {
  const tie = stringMember(annotations, volumeClusterAnnotation);
  if (tie === undefined || tie === "") return { places, takeover: undefined };
  const home = places.find(({ name }) => name === tie);
  const hasToLeave = home === undefined || leaves.has(home.judgement.standing);
  const to = hasToLeave ? successor(places, tie) : undefined;
  return {
    places: places.map((place) =>
      place.name === (to ?? tie) || place.name === tie ? place : excluded(place),
    ),
    takeover: to === undefined ? undefined : { from: tie, to },
  };
}

const leaves: ReadonlySet<string> = new Set(["leaving", "gone"]);

/** Who has begun goes on; otherwise the heaviest of those that take something. */
function successor(places: readonly EvaluatedCluster[], tie: string): string | undefined {
  const open = places.filter(
    ({ name, judgement, member }) =>
      name !== tie &&
      (judgement.standing === "accepting" || judgement.standing === "settling") &&
      member.capacity !== 0 &&
      member.room !== 0,
  );
  const begun = open.find(
    ({ object }) => stringMember(object?.metadata.annotations, migrationSourceAnnotation) === tie,
  );
  const weight = ({ member }: EvaluatedCluster) => member.weight ?? 1;
  const heaviest = [...open].sort((a, b) => weight(b) - weight(a) || (a.name < b.name ? -1 : 1))[0];
  return (begun ?? heaviest)?.name;
}
