/** The Pods to delete first when there are too many, in Kubernetes' order. */
import { isReady, type Pod } from "../api/index.ts";

const costAnnotation = "controller.kubernetes.io/pod-deletion-cost";
const phases = ["Pending", "Unknown", "Running"];

/** Pure: the same Pods give the same result. */
export function podsToDelete(active: readonly Pod[], count: number): Pod[] {
  if (count >= active.length) return [...active];
  const perNode = new Map<string, number>();
  for (const pod of active) {
    const node = pod.spec.nodeName ?? "";
    perNode.set(node, (perNode.get(node) ?? 0) + 1);
  }
  const ranked = active.map((pod) => ({ pod, rank: rankOf(pod, perNode) }));
  ranked.sort((a, b) => compare(a.rank, b.rank));
  return ranked.slice(0, count).map(({ pod }) => pod);
}

type Rank = readonly (number | string)[];

/** The smaller rank is deleted first. */
function rankOf(pod: Pod, perNode: ReadonlyMap<string, number>): Rank {
  const { annotations, creationTimestamp = "", name } = pod.metadata;
  const node = pod.spec.nodeName ?? "";
  const restarts = (pod.status?.containerStatuses ?? []).reduce(
    (most, { restartCount }) => Math.max(most, restartCount),
    0,
  );
  return [
    node === "" ? 0 : 1,
    Math.max(0, phases.indexOf(pod.status?.phase ?? "Pending")),
    isReady(pod) ? 1 : 0,
    Number(annotations?.[costAnnotation] ?? 0) || 0,
    -(perNode.get(node) ?? 0),
    -restarts,
    // The youngest first.
    -(Date.parse(creationTimestamp) || 0),
    name,
  ];
}

function compare(a: Rank, b: Rank): number {
  for (const [index, left] of a.entries()) {
    const right = b[index] as number | string;
    if (left < right) return -1;
    if (left > right) return 1;
  }
  return 0;
}
