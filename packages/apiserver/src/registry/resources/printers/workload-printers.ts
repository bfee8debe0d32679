/**
 * The columns of workload kinds as kubectl shows them, for definitions of these kinds without
 * columns of their own.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { TableColumn } from "@kcp-ts/machinery/table";
import { clusterTables } from "./cluster-printers.ts";
import { podColumns } from "./pod-printer.ts";
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

const printers: ReadonlyMap<string, WorkloadPrinter> = new Map(
  [...appsTables, ...batchTables, ["/Pod", podColumns] as const, ...clusterTables].map(
    ([key, columns]) => [key, printerOf(columns)],
  ),
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
