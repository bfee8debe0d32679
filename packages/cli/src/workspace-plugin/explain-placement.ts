/** `kubectl kcp explain-placement deployment/web`: for every cluster why it has its share, or why none; and the last decisions. */
import {
  type Explanation,
  explainPlacement,
  type Fleet,
  type FleetWorkload,
  graceMsDefault,
  type PlacementRecord,
  readFleet,
} from "@kcp-ts/controlplane";
import { systemClock } from "@kcp-ts/machinery/base";
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
  const fleet = await fleetOf(session);
  const workload = workloadIn(fleet, what, options.namespace ?? session.namespace);
  const explanation = explainPlacement(fleet, workload, momentNow());
  if (options.output === "json") session.print(JSON.stringify(explanation, undefined, 2));
  else for (const line of linesOf(explanation)) session.print(line);
}

export function fleetOf(session: Session): Promise<Fleet> {
  const { workspace } = session.address;
  return readFleet({ client: session.clientIn(workspace), root: session.clientIn("root") });
}

/** A cluster that has become Ready is trusted here: what is told is where it leads. */
export function momentNow() {
  return { patience: { graceMs: graceMsDefault, settleMs: 0 }, nowMs: systemClock.now() };
}

/** By the words that kubectl takes for a kind. */
function workloadIn({ workloads }: Fleet, what: string, namespace: string): FleetWorkload {
  const [typed = "", name = "", ...rest] = what.split("/");
  const [word = "", group] = typed.toLowerCase().split(/\.(.*)/s);
  const isKind = ({ strategy: { wholes } }: FleetWorkload) =>
    [wholes.kind.toLowerCase(), wholes.resource, shortNames[wholes.resource]].includes(word) &&
    (group === undefined || group === wholes.group);
  if (name === "" || rest.length > 0)
    throw new Error(
      `cannot explain ${JSON.stringify(what)}: name a workload, as in deployment/web`,
    );
  const found = workloads.find(
    (one) =>
      isKind(one) &&
      one.whole.metadata.name === name &&
      (one.whole.metadata.namespace ?? "") === namespace,
  );
  if (found !== undefined) return found;
  throw new Error(
    `no ${what} in namespace ${namespace} is placed by a policy: is it in another namespace (-n), or assigned to a cluster by a label of its own?`,
  );
}

const shortNames: Readonly<Record<string, string>> = {
  deployments: "deploy",
  statefulsets: "sts",
  daemonsets: "ds",
  cronjobs: "cj",
  horizontalpodautoscalers: "hpa",
};

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
        splitText(split),
        because.join("; "),
      ]),
    ]),
  ];
}

export function splitText(split: Readonly<Record<string, number>>): string {
  const shares = Object.entries(split).map(([cluster, share]) => `${cluster} ${share}`);
  return shares.length === 0 ? "nowhere" : shares.join(", ");
}
