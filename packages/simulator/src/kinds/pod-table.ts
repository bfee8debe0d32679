/**
 * The table columns of Pods: READY, STATUS and RESTARTS are computed from the states of their
 * containers.
 */
import {
  ageCell,
  ageColumn,
  column,
  listIn,
  nameCell,
  nameColumn,
  objectIn,
  textIn,
  wideColumn,
} from "@kcp-ts/apiserver/kinds";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { age, type TableColumn } from "@kcp-ts/machinery/table";

export const podColumns: readonly TableColumn[] = [
  nameColumn,
  column("Ready", "string", "Containers that are ready, of all."),
  column("Status", "string", "The state that the containers add up to."),
  column("Restarts", "string", "How often containers were restarted, and when last."),
  ageColumn,
  wideColumn("IP", "string", "The address of the Pod."),
  wideColumn("Node", "string", "The node it is bound to."),
  wideColumn("Nominated Node", "string", "The node it waits for."),
  wideColumn("Readiness Gates", "string", "Conditions of others that hold, of all."),
];

export function podCells(pod: JsonObject, nowMs: number): JsonValue[] {
  const [spec, status] = [objectIn(pod, "spec"), objectIn(pod, "status")];
  const statuses = objects(status["containerStatuses"]);
  const ready = statuses.filter((one) => one["ready"] === true && hasState(one, "running"));
  const gates = objects(spec["readinessGates"]);
  const conditions = objects(status["conditions"]);
  const holding = gates.filter((gate) =>
    conditions.some((one) => one["type"] === gate["conditionType"] && one["status"] === "True"),
  );
  return [
    nameCell(pod),
    `${ready.length}/${listIn(spec["containers"]).length}`,
    podStatusText(pod),
    restartsText(statuses, nowMs),
    ageCell(pod, nowMs),
    textIn(status, "podIP") || "<none>",
    textIn(spec, "nodeName") || "<none>",
    textIn(status, "nominatedNodeName") || "<none>",
    gates.length === 0 ? "<none>" : `${holding.length}/${gates.length}`,
  ];
}

/**
 * As in Kubernetes' printer: the state of the last container that has a reason, unless the Pod is
 * initializing or terminating.
 */
export function podStatusText(pod: JsonObject): string {
  const status = objectIn(pod, "status");
  let text = textIn(status, "reason") || textIn(status, "phase");
  const scheduled = objects(status["conditions"]).find((one) => one["type"] === "PodScheduled");
  if (scheduled?.["reason"] === "SchedulingGated") text = "SchedulingGated";
  const initializing = initText(pod);
  if (initializing !== undefined) text = initializing;
  else text = containersText(objects(status["containerStatuses"]), text, status);
  const isDeleted = (pod["metadata"] as JsonObject)["deletionTimestamp"] !== undefined;
  if (isDeleted && textIn(status, "reason") === "NodeLost") return "Unknown";
  const isOver = ["Succeeded", "Failed"].includes(textIn(status, "phase"));
  return isDeleted && !isOver ? "Terminating" : text;
}

function initText(pod: JsonObject): string | undefined {
  const statuses = objects(objectIn(pod, "status")["initContainerStatuses"]);
  const total = listIn(objectIn(pod, "spec")["initContainers"]).length;
  for (const [index, one] of statuses.entries()) {
    const state = objectIn(one, "state");
    const terminated = state["terminated"];
    if (isJsonObject(terminated)) {
      if (Number(terminated["exitCode"] ?? 0) === 0) continue;
      return `Init:${textIn(terminated, "reason") || exitText(terminated)}`;
    }
    const waiting = textIn(objectIn(state, "waiting"), "reason");
    if (waiting !== "" && waiting !== "PodInitializing") return `Init:${waiting}`;
    return `Init:${index}/${total}`;
  }
  return undefined;
}

function containersText(
  statuses: readonly JsonObject[],
  otherwise: string,
  status: JsonObject,
): string {
  let text = otherwise;
  let hasRunning = false;
  for (const one of [...statuses].reverse()) {
    const state = objectIn(one, "state");
    const waiting = textIn(objectIn(state, "waiting"), "reason");
    const terminated = state["terminated"];
    if (waiting !== "") text = waiting;
    else if (isJsonObject(terminated)) text = textIn(terminated, "reason") || exitText(terminated);
    else if (one["ready"] === true && hasState(one, "running")) hasRunning = true;
  }
  if (text !== "Completed" || !hasRunning) return text;
  const isReady = objects(status["conditions"]).some(
    (one) => one["type"] === "Ready" && one["status"] === "True",
  );
  return isReady ? "Running" : "NotReady";
}

function exitText(terminated: JsonObject): string {
  const signal = Number(terminated["signal"] ?? 0);
  return signal === 0 ? `ExitCode:${Number(terminated["exitCode"] ?? 0)}` : `Signal:${signal}`;
}

function restartsText(statuses: readonly JsonObject[], nowMs: number): string {
  const restarts = statuses.reduce((sum, one) => sum + Number(one["restartCount"] ?? 0), 0);
  const ends = statuses
    .map((one) => textIn(objectIn(objectIn(one, "lastState"), "terminated"), "finishedAt"))
    .filter((text) => text !== "")
    .sort();
  const last = ends.at(-1);
  return restarts === 0 || last === undefined
    ? String(restarts)
    : `${restarts} (${age(last, nowMs)} ago)`;
}

function hasState(status: JsonObject, state: string): boolean {
  return objectIn(status, "state")[state] !== undefined;
}

function objects(value: JsonValue | undefined): JsonObject[] {
  return listIn(value).filter(isJsonObject);
}
