/**
 * The columns of Pods: READY, STATUS and RESTARTS are computed from the states of their containers,
 * as Kubernetes' printer computes them.
 */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { age } from "@kcp-ts/machinery/table";
import {
  ageColumn,
  type Column,
  hasCondition,
  itemsAt,
  memberAt,
  noneText,
  numberAt,
  scalarText,
  textAt,
  textOrNoneAt,
} from "./workload-cells.ts";

export const podColumns: readonly Column[] = [
  ["Ready", "string", readyText],
  ["Status", "string", statusText],
  ["Restarts", "string", restartsText],
  ageColumn,
  ["IP", "string", (pod) => textOrNoneAt(pod, "status", "podIP"), 1],
  ["Node", "string", (pod) => textOrNoneAt(pod, "spec", "nodeName"), 1],
  ["Nominated Node", "string", (pod) => textOrNoneAt(pod, "status", "nominatedNodeName"), 1],
  ["Readiness Gates", "string", readinessGatesText, 1],
];

function readyText(pod: JsonObject): string {
  const ready = itemsAt(pod, "status", "containerStatuses").filter(isReady);
  return `${ready.length}/${itemsAt(pod, "spec", "containers").length}`;
}

function isReady(container: JsonObject): boolean {
  return container["ready"] === true && memberAt(container, "state", "running") !== undefined;
}

function readinessGatesText(pod: JsonObject): string {
  const gates = itemsAt(pod, "spec", "readinessGates");
  if (gates.length === 0) return noneText;
  const met = gates.filter(({ conditionType }) => hasCondition(pod, scalarText(conditionType)));
  return `${met.length}/${gates.length}`;
}

/**
 * The state of the first container that has a reason, unless the Pod is initializing or
 * terminating.
 */
function statusText(pod: JsonObject): string {
  const phase = textAt(pod, "status", "phase");
  const isGated = itemsAt(pod, "status", "conditions").some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  const otherwise = isGated ? "SchedulingGated" : textAt(pod, "status", "reason") || phase;
  const text = initText(pod) ?? containersText(pod, otherwise);
  const isDeleted = memberAt(pod, "metadata", "deletionTimestamp") !== undefined;
  if (isDeleted && textAt(pod, "status", "reason") === "NodeLost") return "Unknown";
  return isDeleted && phase !== "Succeeded" && phase !== "Failed" ? "Terminating" : text;
}

function initText(pod: JsonObject): string | undefined {
  const statuses = itemsAt(pod, "status", "initContainerStatuses");
  const total = itemsAt(pod, "spec", "initContainers").length;
  for (const [index, container] of statuses.entries()) {
    const terminated = memberAt(container, "state", "terminated");
    if (isJsonObject(terminated)) {
      if (numberAt(terminated, "exitCode") === 0) continue;
      return `Init:${textAt(terminated, "reason") || exitText(terminated)}`;
    }
    const waiting = textAt(container, "state", "waiting", "reason");
    if (waiting !== "" && waiting !== "PodInitializing") return `Init:${waiting}`;
    return `Init:${index}/${total}`;
  }
  return undefined;
}

function containersText(pod: JsonObject, otherwise: string): string {
  let text = otherwise;
  let hasRunning = false;
  for (const container of itemsAt(pod, "status", "containerStatuses").toReversed()) {
    const waiting = textAt(container, "state", "waiting", "reason");
    const terminated = memberAt(container, "state", "terminated");
    if (waiting !== "") text = waiting;
    else if (isJsonObject(terminated)) text = textAt(terminated, "reason") || exitText(terminated);
    else if (isReady(container)) hasRunning = true;
  }
  if (text !== "Completed" || !hasRunning) return text;
  return hasCondition(pod, "Ready") ? "Running" : "NotReady";
}

function exitText(terminated: JsonObject): string {
  const signal = numberAt(terminated, "signal");
  return signal === 0 ? `ExitCode:${numberAt(terminated, "exitCode")}` : `Signal:${signal}`;
}

function restartsText(pod: JsonObject, nowMs: number): string {
  const statuses = itemsAt(pod, "status", "containerStatuses");
  const restarts = statuses.reduce((sum, each) => sum + numberAt(each, "restartCount"), 0);
  const ends = statuses
    .map((each) => textAt(each, "lastState", "terminated", "finishedAt"))
    .filter((text) => text !== "")
    .sort();
  const last = ends.at(-1);
  return restarts === 0 || last === undefined
    ? String(restarts)
    : `${restarts} (${age(last, nowMs)} ago)`;
}
