/** `kubectl kcp explain-placement deployment/web`: for every cluster why it has its share, or why none; and the last decisions. */
import type { DependencyExplanation, Explanation, PlacementRecord } from "@kcp-ts/multicluster";
import { createPlacementReview } from "./placement-review.ts";
import type { Session } from "./session.ts";
import { textTable } from "./text-table.ts";

export interface ExplainOptions {
  readonly namespace?: string;
  readonly output?: string;
}

export async function printExplanation(
  session: Session,
  what: string,
  options: ExplainOptions,
): Promise<void> {
  const [typed = "", name = "", ...rest] = what.split("/");
  const [resource = "", group = ""] = typed.split(/\.(.*)/s);
  if (resource === "" || name === "" || rest.length > 0)
    throw new Error(
      `cannot explain ${JSON.stringify(what)}: name a workload, as in deployment/web`,
    );
  const namespace = options.namespace ?? session.namespace;
  const explain = { resource, group, namespace, name };
  const { explanation, follower } = await createPlacementReview(session, { explain });
  if (options.output === "json")
    session.print(JSON.stringify(explanation ?? follower, undefined, 2));
  else if (explanation !== undefined) for (const line of linesOf(explanation)) session.print(line);
  else if (follower !== undefined)
    for (const line of dependencyLines(follower)) session.print(line);
}

function dependencyLines({ kind, namespace, name, clusters }: DependencyExplanation) {
  return [
    `${kind.toLowerCase()}/${name} in namespace ${namespace} goes where what needs it is`,
    "",
    ...textTable([
      ["CLUSTER", "THERE", "WHY"],
      ...clusters.map((one) => [one.name, one.isThere ? "yes" : "no", one.reasons.join("; ")]),
    ]),
  ];
}

function linesOf(explanation: Explanation): readonly string[] {
  const { kind, namespace, name, replicas, policy, clusters, unplaced, bound } = explanation;
  const by = policy.length === 0 ? "no policy: all clusters, evenly" : policy.join(", ");
  return [
    `${kind.toLowerCase()}/${name} in namespace ${namespace} asks for ${replicas}, by ${by}`,
    "",
    ...textTable([
      ["CLUSTER", "SHARE", "HAS", "AVAILABLE", "ROOM", "WHY"],
      ...clusters.map((one) => [
        one.name,
        String(one.share),
        String(one.replicas),
        String(one.available),
        one.room === undefined ? "-" : String(one.room),
        one.reasons.join("; "),
      ]),
    ]),
    ...(unplaced === 0 ? [] : ["", `${unplaced} of ${replicas} have no place`]),
    ...(bound === undefined ? [] : [bound]),
    ...explanation.keptBy.map(
      ({ cluster, reason, message }) => `it would stay in ${cluster} (${reason}): ${message}`,
    ),
    ...historyLines(explanation.history),
  ];
}

function historyLines(history: readonly PlacementRecord[]): readonly string[] {
  if (history.length === 0) return [];
  return [
    "",
    ...textTable([
      ["DECIDED", "REPLICAS", "SPLIT", "BECAUSE"],
      ...history.map(({ time, replicas, split, because }) => [
        time,
        String(replicas),
        replicaAssignmentText(split),
        because.join("; "),
      ]),
    ]),
  ];
}

export function replicaAssignmentText(split: Readonly<Record<string, number>>): string {
  const shares = Object.entries(split).map(([cluster, share]) => `${cluster} ${share}`);
  return shares.length === 0 ? "nowhere" : shares.join(", ");
}
