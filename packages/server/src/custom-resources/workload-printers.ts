/**
 * The columns of workload kinds as kubectl shows them, for definitions that stand in for these kinds and name no columns of their own.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { age, type TableColumn } from "@kcp-ts/machinery/table";

/** Everything behind the name. */
export interface WorkloadPrinter {
  readonly columns: readonly TableColumn[];
  cells(object: JsonObject, nowMs: number): JsonValue[];
}

export function workloadPrinter(group: string, kind: string): WorkloadPrinter | undefined {
  return printers.get(`${group}/${kind}`);
}

type Cell = (object: JsonObject) => JsonValue;
type Column = readonly [name: string, type: string, cell: Cell, priority?: number];

const number = (object: JsonObject, ...path: readonly string[]): number => {
  const value = at(object, path);
  return typeof value === "number" ? value : 0;
};
const words = (object: JsonObject, ...path: readonly string[]): string => {
  const value = at(object, path);
  return typeof value === "string" && value !== "" ? value : "<none>";
};

function at(object: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const key of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

function items(object: JsonObject, ...path: readonly string[]): readonly JsonObject[] {
  const value = at(object, path);
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
}

/** Replicas that nobody set are one. */
function wanted(object: JsonObject): number {
  const replicas = at(object, ["spec", "replicas"]);
  return typeof replicas === "number" ? replicas : 1;
}

const readyOf = (object: JsonObject) =>
  `${number(object, "status", "readyReplicas")}/${wanted(object)}`;
const containers = (object: JsonObject) => items(object, "spec", "template", "spec", "containers");
const containerColumns: readonly Column[] = [
  [
    "Containers",
    "string",
    (object) =>
      containers(object)
        .map(({ name }) => String(name))
        .join(","),
    1,
  ],
  [
    "Images",
    "string",
    (object) =>
      containers(object)
        .map(({ image }) => String(image))
        .join(","),
    1,
  ],
];

function ports(object: JsonObject): string {
  const shown = items(object, "spec", "ports").map(({ port, nodePort, protocol = "TCP" }) =>
    typeof nodePort === "number" && nodePort > 0
      ? `${String(port)}:${nodePort}/${String(protocol)}`
      : `${String(port)}/${String(protocol)}`,
  );
  return shown.length === 0 ? "<none>" : shown.join(",");
}

function externalAddress(object: JsonObject): string {
  const ingress = items(object, "status", "loadBalancer", "ingress");
  const shown = ingress.map(({ ip, hostname }) => String(ip ?? hostname ?? ""));
  if (shown.length > 0) return shown.join(",");
  return words(object, "spec", "type") === "LoadBalancer" ? "<pending>" : "<none>";
}

function podReady(object: JsonObject): string {
  const statuses = items(object, "status", "containerStatuses");
  const ready = statuses.filter((status) => status["ready"] === true).length;
  return `${ready}/${items(object, "spec", "containers").length}`;
}

function podStatus(object: JsonObject): string {
  if (at(object, ["metadata", "deletionTimestamp"]) !== undefined) return "Terminating";
  for (const status of items(object, "status", "containerStatuses")) {
    const reason = at(status, ["state", "waiting", "reason"]);
    if (typeof reason === "string" && reason !== "") return reason;
  }
  return words(object, "status", "phase");
}

function restarts(object: JsonObject): number {
  const statuses = items(object, "status", "containerStatuses");
  return statuses.reduce((sum, status) => sum + number(status, "restartCount"), 0);
}

const tables: readonly (readonly [key: string, columns: readonly Column[]])[] = [
  [
    "apps/Deployment",
    [
      ["Ready", "string", readyOf],
      ["Up-to-date", "string", (object) => number(object, "status", "updatedReplicas")],
      ["Available", "string", (object) => number(object, "status", "availableReplicas")],
    ],
  ],
  [
    "apps/ReplicaSet",
    [
      ["Desired", "integer", wanted],
      ["Current", "integer", (object) => number(object, "status", "replicas")],
      ["Ready", "integer", (object) => number(object, "status", "readyReplicas")],
    ],
  ],
  ["apps/StatefulSet", [["Ready", "string", readyOf]]],
  [
    "apps/DaemonSet",
    [
      ["Desired", "integer", (object) => number(object, "status", "desiredNumberScheduled")],
      ["Current", "integer", (object) => number(object, "status", "currentNumberScheduled")],
      ["Ready", "integer", (object) => number(object, "status", "numberReady")],
      ["Up-to-date", "integer", (object) => number(object, "status", "updatedNumberScheduled")],
      ["Available", "integer", (object) => number(object, "status", "numberAvailable")],
    ],
  ],
  [
    "batch/Job",
    [
      [
        "Completions",
        "string",
        (object) => {
          const completions = at(object, ["spec", "completions"]);
          const total = typeof completions === "number" ? completions : 1;
          return `${number(object, "status", "succeeded")}/${total}`;
        },
      ],
    ],
  ],
  [
    "/Pod",
    [
      ["Ready", "string", podReady],
      ["Status", "string", podStatus],
      ["Restarts", "string", restarts],
    ],
  ],
  [
    "/Service",
    [
      ["Type", "string", (object) => words(object, "spec", "type")],
      ["Cluster-IP", "string", (object) => words(object, "spec", "clusterIP")],
      ["External-IP", "string", externalAddress],
      ["Port(s)", "string", ports],
    ],
  ],
];

const withContainers: ReadonlySet<string> = new Set([
  "apps/Deployment",
  "apps/ReplicaSet",
  "apps/StatefulSet",
  "apps/DaemonSet",
  "batch/Job",
]);

const printers: ReadonlyMap<string, WorkloadPrinter> = new Map(
  tables.map(([key, own]) => [
    key,
    printerOf(own, withContainers.has(key) ? containerColumns : []),
  ]),
);

/** Age stands behind what a kind shows, and in front of what is shown in wide output only. */
function printerOf(own: readonly Column[], wide: readonly Column[]): WorkloadPrinter {
  const column = ([name, type, , priority = 0]: Column): TableColumn => ({
    name,
    type,
    format: "",
    description: `${name}, as kubectl knows it.`,
    priority,
  });
  const ageColumn = column(["Age", "string", () => ""]);
  return {
    columns: [...own.map(column), ageColumn, ...wide.map(column)],
    cells: (object, nowMs) => [
      ...own.map(([, , cell]) => cell(object)),
      age(at(object, ["metadata", "creationTimestamp"]) as string | undefined, nowMs),
      ...wide.map(([, , cell]) => cell(object)),
    ],
  };
}
