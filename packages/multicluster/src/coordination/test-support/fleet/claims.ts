/** A claim of one number of a set, and who makes and moves claims: late, by what is asked for on the whole, and not while somebody may use it. */
import { stateLabel, volumeClusterAnnotation, volumesAnnotation } from "../../../api/index.ts";
import { requestedOrdinals } from "../../ordinal-volumes.ts";
import type { Workload } from "../../workload.ts";
import type { ClusterSet } from "./fleet.ts";
import type { SimulatedWorkload } from "./whole.ts";

export class SimulatedClaim {
  readonly number: number;
  home: string;
  isBound = false;
  isRefused = false;
  /** Who it is asked for by is not registered any more: it stays where it is. */
  isAstray = false;
  /** What is said of clusters that it is asked for in. */
  asked: string | undefined;

  constructor(number: number, home: string) {
    this.number = number;
    this.home = home;
  }

  get stays(): boolean {
    return this.isRefused || this.isAstray;
  }

  object(set: string): Workload {
    const { home, asked, stays } = this;
    const places: Record<string, { state: string }> = {
      [home]: { state: this.isBound ? "bound" : "binding" },
    };
    if (asked !== undefined) places[asked] = { state: stays ? "refused" : "fencing" };
    return {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: `data-${set}-${this.number}`,
        namespace: "demo",
        labels: { [stateLabel(home)]: "Sync" },
        annotations: {
          [volumeClusterAnnotation]: home,
          [volumesAnnotation]: JSON.stringify(places),
        },
      },
      spec: {},
      status: { phase: this.isBound ? "Bound" : "Pending" },
    };
  }
}

export function moveClaims(fleet: ClusterSet, whole: SimulatedWorkload): void {
  const asks = requestedOrdinals(whole.parent);
  for (const claim of whole.claims.values()) {
    const isUp = fleet.clusters.get(claim.home)?.isUp === true;
    if (!claim.isBound && isUp && fleet.random.chance(0.3)) claim.isBound = true;
  }
  const wanted = new Map<number, string>();
  for (const [cluster, { start, end }] of asks)
    for (let number = start; number < end; number++) wanted.set(number, cluster);
  for (const claim of whole.claims.values()) {
    const to = wanted.get(claim.number);
    claim.asked = to === claim.home ? undefined : to;
    claim.isAstray = claim.asked !== undefined && !fleet.targets.has(claim.asked);
  }
  for (const [number, cluster] of wanted) {
    if (fleet.random.chance(0.5)) continue;
    const claim = whole.claims.get(number);
    if (!fleet.targets.has(cluster)) continue;
    if (claim === undefined) whole.claims.set(number, new SimulatedClaim(number, cluster));
    else if (claim.home !== cluster && mayMove(fleet, whole, claim)) {
      fleet.note(`claim ${number} of ${whole.name} from ${claim.home} to ${cluster}`);
      claim.home = cluster;
      claim.isBound = false;
      claim.asked = undefined;
    }
  }
}

function mayMove(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  { number, home, stays, isBound }: SimulatedClaim,
) {
  if (stays || !isBound) return false;
  const isSeen = fleet.clusters.get(home)?.isUp === true && fleet.targets.get(home)?.isReady;
  return isSeen === true && !fleet.mayRun(whole, home, number);
}
