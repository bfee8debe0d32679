/**
 * The columns of workload kinds as kubectl shows them, for definitions of these kinds without
 * columns of their own.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { TableColumn } from "@kcp-ts/machinery/table";
import { clusterTables } from "./cluster-printers.ts";
import {
  ageAt,
  ageColumn,
  type Column,
  durationText,
  hasCondition,
  itemsAt,
  labelsText,
  memberAt,
  noneText,
  numberAt,
  templateColumns,
  textOrNoneAt,
} from "./workload-cells.ts";

/** All columns after the name. */
export interface WorkloadPrinter {
  readonly columns: readonly TableColumn[];
  cells(object: JsonObject, nowMs: number): JsonValue[];
}

export function workloadPrinter(group: string, kind: string): WorkloadPrinter | undefined {
  return printers.get(`${group}/${kind}`);
}

/** Unset replicas default to 1. */
function wanted(object: JsonObject): number {
  const replicas = memberAt(object, "spec", "replicas");
  return typeof replicas === "number" ? replicas : 1;
}

const readyOf = (object: JsonObject) =>
  `${numberAt(object, "status", "readyReplicas")}/${wanted(object)}`;

const status = (name: string, field: string, type = "integer"): Column => [
  name,
  type,
  (object) => numberAt(object, "status", field),
];

const template = ["spec", "template"];
const selector = ["spec", "selector"];

const appsTables: readonly (readonly [key: string, columns: readonly Column[]])[] = [
  [
    "apps/Deployment",
    [
      ["Ready", "string", readyOf],
      status("Up-to-date", "updatedReplicas", "string"),
      status("Available", "availableReplicas", "string"),
      ageColumn,
      ...templateColumns(template, selector),
    ],
  ],
  [
    "apps/ReplicaSet",
    [
      ["Desired", "integer", wanted],
      status("Current", "replicas"),
      status("Ready", "readyReplicas"),
      ageColumn,
      ...templateColumns(template, selector),
    ],
  ],
  ["apps/StatefulSet", [["Ready", "string", readyOf], ageColumn, ...templateColumns(template)]],
  [
    "apps/DaemonSet",
    [
      status("Desired", "desiredNumberScheduled"),
      status("Current", "currentNumberScheduled"),
      status("Ready", "numberReady"),
      status("Up-to-date", "updatedNumberScheduled"),
      status("Available", "numberAvailable"),
      [
        "Node Selector",
        "string",
        (object) => labelsText(memberAt(object, ...template, "spec", "nodeSelector")),
      ],
      ageColumn,
      ...templateColumns(template, selector),
    ],
  ],
];

function completions(object: JsonObject): string {
  const succeeded = numberAt(object, "status", "succeeded");
  const total = memberAt(object, "spec", "completions");
  if (typeof total === "number") return `${succeeded}/${total}`;
  const parallelism = numberAt(object, "spec", "parallelism");
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobStatus(object: JsonObject): string {
  if (hasCondition(object, "Complete")) return "Complete";
  if (hasCondition(object, "Failed")) return "Failed";
  if (memberAt(object, "metadata", "deletionTimestamp") !== undefined) return "Terminating";
  for (const type of ["Suspended", "FailureTarget", "SuccessCriteriaMet"])
    if (hasCondition(object, type)) return type;
  return "Running";
}

function suspended(object: JsonObject): string {
  const suspend = memberAt(object, "spec", "suspend");
  return typeof suspend !== "boolean" ? "<unset>" : suspend ? "True" : "False";
}

const batchTables: typeof appsTables = [
  [
    "batch/Job",
    [
      ["Status", "string", jobStatus],
      ["Completions", "string", completions],
      [
        "Duration",
        "string",
        (object, nowMs) =>
          durationText(
            memberAt(object, "status", "startTime"),
            memberAt(object, "status", "completionTime"),
            nowMs,
          ),
      ],
      ageColumn,
      ...templateColumns(template, selector),
    ],
  ],
  [
    "batch/CronJob",
    [
      ["Schedule", "string", (object) => textOrNoneAt(object, "spec", "schedule")],
      ["Timezone", "string", (object) => textOrNoneAt(object, "spec", "timeZone")],
      ["Suspend", "boolean", suspended],
      ["Active", "integer", (object) => itemsAt(object, "status", "active").length],
      [
        "Last Schedule",
        "string",
        (object, nowMs) =>
          memberAt(object, "status", "lastScheduleTime") === undefined
            ? noneText
            : ageAt(object, nowMs, "status", "lastScheduleTime"),
      ],
      ageColumn,
      ...templateColumns(
        ["spec", "jobTemplate", "spec", "template"],
        ["spec", "jobTemplate", "spec", "selector"],
      ),
    ],
  ],
];

function podReady(object: JsonObject): string {
  const statuses = itemsAt(object, "status", "containerStatuses");
  const ready = statuses.filter((each) => each["ready"] === true).length;
  return `${ready}/${itemsAt(object, "spec", "containers").length}`;
}

function podStatus(object: JsonObject): string {
  if (memberAt(object, "metadata", "deletionTimestamp") !== undefined) return "Terminating";
  for (const each of itemsAt(object, "status", "containerStatuses")) {
    for (const state of ["waiting", "terminated"]) {
      const reason = memberAt(each, "state", state, "reason");
      if (typeof reason === "string" && reason !== "") return reason;
    }
  }
  const reason = textOrNoneAt(object, "status", "reason");
  return reason === noneText ? textOrNoneAt(object, "status", "phase") : reason;
}

function restarts(object: JsonObject): number {
  const statuses = itemsAt(object, "status", "containerStatuses");
  return statuses.reduce((sum, each) => sum + numberAt(each, "restartCount"), 0);
}

function readinessGates(object: JsonObject): string {
  const gates = itemsAt(object, "spec", "readinessGates");
  if (gates.length === 0) return noneText;
  const met = gates.filter(({ conditionType }) => hasCondition(object, String(conditionType)));
  return `${met.length}/${gates.length}`;
}

const podTables: typeof appsTables = [
  [
    "/Pod",
    [
      ["Ready", "string", podReady],
      ["Status", "string", podStatus],
      ["Restarts", "string", restarts],
      ageColumn,
      ["IP", "string", (object) => textOrNoneAt(object, "status", "podIP"), 1],
      ["Node", "string", (object) => textOrNoneAt(object, "spec", "nodeName"), 1],
      [
        "Nominated Node",
        "string",
        (object) => textOrNoneAt(object, "status", "nominatedNodeName"),
        1,
      ],
      ["Readiness Gates", "string", readinessGates, 1],
    ],
  ],
];

const printers: ReadonlyMap<string, WorkloadPrinter> = new Map(
  [...appsTables, ...batchTables, ...podTables, ...clusterTables].map(([key, columns]) => [
    key,
    printerOf(columns),
  ]),
);

function printerOf(columns: readonly Column[]): WorkloadPrinter {
  return {
    columns: columns.map(([name, type, , priority = 0]) => ({
      name,
      type,
      format: "",
      description: `${name}, as kubectl knows it.`,
      priority,
    })),
    cells: (object, nowMs) => columns.map(([, , cell]) => cell(object, nowMs)),
  };
}
