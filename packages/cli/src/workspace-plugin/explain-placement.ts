/**
 * `kubectl kcp explain-placement deployment/web`: for every cluster the reason of its replicas, or
 * why it has none; and the last decisions.
 */
import type {
  DependencyExplanation,
  Explanation,
  PlacementDecisionRecord,
} from "@kcp-ts/multicluster";
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
  const { explanation, dependency } = await createPlacementReview(session, { explain });
  if (options.output === "json")
    session.print(JSON.stringify(explanation ?? dependency, undefined, 2));
  else if (explanation !== undefined) for (const line of linesOf(explanation)) session.print(line);
  else if (dependency !== undefined)
    for (const line of dependencyLines(dependency)) session.print(line);
}

function dependencyLines({ kind, namespace, name, clusters }: DependencyExplanation) {
  return [
    `${kind.toLowerCase()}/${name} in namespace ${namespace} goes where what needs it is`,
    "",
    ...textTable([
      ["CLUSTER", "PRESENT", "REASON"],
      ...clusters.map((one) => [one.name, one.present ? "yes" : "no", one.reasons.join("; ")]),
    ]),
  ];
}

function linesOf(explanation: Explanation): readonly string[] {
  const { kind, namespace, name, replicas, policy, clusters, shortage } = explanation;
  const by = policy.length === 0 ? "no policy: all clusters, evenly" : policy.join(", ");
  return [
    `${kind.toLowerCase()}/${name} in namespace ${namespace} asks for ${replicas},`,
    `by ${by}`,
    "",
    ...textTable([
      ["CLUSTER", "DESIRED", "READY", "CAPACITY", "REASON"],
      ...clusters.map((one) => [
        one.name,
        String(one.desired),
        `${one.available}/${one.replicas}`,
        one.capacity === undefined ? "-" : String(one.capacity),
        one.reasons.join("; "),
      ]),
    ]),
    ...(shortage === undefined ? [] : ["", shortage]),
    ...blockerLines(explanation),
    ...historyLines(explanation.history),
  ];
}

/** The claims whose clusters do not have to be left yet; the rows name the others. */
function blockerLines({ disruptionBlockedBy, rules }: Explanation): readonly string[] {
  const isNamed = (name: string) =>
    rules.some(({ rule, cluster }) => rule === "Volume" && cluster === name);
  const lines = disruptionBlockedBy
    .filter(({ cluster }) => !isNamed(cluster))
    .map(({ cluster, claim, reason }) => `  ${cluster}: claim ${claim} (${reason})`);
  return lines.length === 0
    ? []
    : ["", "a drain would not move, because of their volumes:", ...lines];
}

function historyLines(history: readonly PlacementDecisionRecord[]): readonly string[] {
  if (history.length === 0) return [];
  return [
    "",
    ...textTable([
      ["TIME", "REPLICAS", "ASSIGNED", "REASON"],
      ...history.map(({ time, replicas, assigned, reasons }) => [
        time,
        String(replicas),
        replicaAssignmentText(assigned),
        reasons.join("; "),
      ]),
    ]),
  ];
}

export function replicaAssignmentText(assigned: Readonly<Record<string, number>>): string {
  const shares = Object.entries(assigned).map(([cluster, share]) => `${cluster} ${share}`);
  return shares.length === 0 ? "none" : shares.join(", ");
}
