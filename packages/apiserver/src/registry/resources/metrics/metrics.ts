/** The current usage of Pods and nodes, for `kubectl top`. The caller supplies the source. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { nodeMetrics, podMetrics } from "@kcp-ts/machinery/shape";
import type { ComputedResource } from "../../computed-resource.ts";
import type { ResourceDefinition } from "../../resource-definition.ts";
import {
  baseStrategy,
  builtIn,
  column,
  listIn,
  nameCell,
  nameColumn,
  namespacedNames,
  objectIn,
} from "../standard.ts";

const names = { group: "metrics.k8s.io", version: "v1beta1", singular: "" } as const;
const verbs = ["get", "list"];

export function podMetricsKind(computed: ComputedResource): ResourceDefinition {
  return builtIn({
    ...names,
    resource: "pods",
    kind: "PodMetrics",
    isNamespaced: true,
    verbs,
    computed,
    strategy: {
      ...readOnly,
      shape: podMetrics,
      columns: [
        nameColumn,
        column("Containers", "integer", "The number of containers with metrics."),
        column("Window", "string", "The duration over which the usage was measured."),
      ],
      cells: (object) => [
        nameCell(object),
        listIn(object["containers"]).filter(isJsonObject).length,
        object["window"] ?? "",
      ],
    },
  });
}

export function nodeMetricsKind(computed: ComputedResource): ResourceDefinition {
  return builtIn({
    ...names,
    resource: "nodes",
    kind: "NodeMetrics",
    isNamespaced: false,
    verbs,
    computed,
    strategy: {
      ...readOnly,
      shape: nodeMetrics,
      columns: [
        nameColumn,
        column("CPU", "string", "The CPU usage."),
        column("Memory", "string", "The memory usage."),
        column("Window", "string", "The duration over which the usage was measured."),
      ],
      cells: (object): JsonValue[] => {
        const usage: JsonObject = objectIn(object, "usage");
        return [
          nameCell(object),
          usage["cpu"] ?? "",
          usage["memory"] ?? "",
          object["window"] ?? "",
        ];
      },
    },
  });
}

/** Clients cannot write metrics. */
const readOnly = { ...baseStrategy, ...namespacedNames };
