/**
 * A claim of one ordinal, and the controller that creates and moves claims: late, by the requested
 * ordinals of the StatefulSet, and not while a Pod may use it.
 */
import { stateLabel, volumeClusterAnnotation, volumesAnnotation } from "../../../api/index.ts";
import { requestedOrdinals } from "../../placement-record.ts";
import type { Workload } from "../../workload.ts";
import type { ClusterSet } from "./cluster-set.ts";
import type { SimulatedWorkload } from "./simulated-workload.ts";

export class SimulatedClaim {
  readonly ordinal: number;
  home: string;
  isBound = false;
  isRefused = false;
  /** The cluster that requests the claim is Unregistered: the claim stays. */
  isInWrongCluster = false;
  /** The state that the claim reports for the clusters that request it. */
  asked: string | undefined;

  constructor(ordinal: number, home: string) {
    this.ordinal = ordinal;
    this.home = home;
  }

  get stays(): boolean {
    return this.isRefused || this.isInWrongCluster;
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
        name: `data-${set}-${this.ordinal}`,
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

export function moveClaims(clusterSet: ClusterSet, workload: SimulatedWorkload): void {
  const asks = requestedOrdinals(workload.record);
  for (const claim of workload.claims.values()) {
    const isUp = clusterSet.clusters.get(claim.home)?.isUp === true;
    if (!claim.isBound && isUp && clusterSet.random.chance(0.3)) claim.isBound = true;
  }
  const wanted = new Map<number, string>();
  for (const [cluster, { start, end }] of asks)
    for (let number = start; number < end; number++) wanted.set(number, cluster);
  for (const claim of workload.claims.values()) {
    const to = wanted.get(claim.ordinal);
    claim.asked = to === claim.home ? undefined : to;
    claim.isInWrongCluster = claim.asked !== undefined && !clusterSet.targets.has(claim.asked);
  }
  for (const [number, cluster] of wanted) {
    if (clusterSet.random.chance(0.5)) continue;
    const claim = workload.claims.get(number);
    if (!clusterSet.targets.has(cluster)) continue;
    if (claim === undefined) workload.claims.set(number, new SimulatedClaim(number, cluster));
    else if (claim.home !== cluster && mayMove(clusterSet, workload, claim)) {
      clusterSet.note(`claim ${number} of ${workload.name} from ${claim.home} to ${cluster}`);
      claim.home = cluster;
      claim.isBound = false;
      claim.asked = undefined;
    }
  }
}

function mayMove(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  { ordinal, home, stays, isBound }: SimulatedClaim,
) {
  if (stays || !isBound) return false;
  const isSeen =
    clusterSet.clusters.get(home)?.isUp === true && clusterSet.targets.get(home)?.isReady;
  return isSeen === true && !clusterSet.mayRun(workload, home, ordinal);
}
