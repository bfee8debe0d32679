/**
 * The shapes of metrics.k8s.io/v1beta1. Numbers are those of the published protobuf files; a window
 * is a duration, which no client sends.
 */
import { objectMeta } from "./generated/meta-v1.ts";
import { listMap, map, message, quantity, string, time } from "./shape.ts";

const metrics = "io.k8s.metrics.pkg.apis.metrics.v1beta1";

const containerMetrics = message(
  `${metrics}.ContainerMetrics`,
  {
    name: [1, string, "Of the container."],
    usage: [2, map(quantity), "What it used, by resource."],
  },
  "What one container used.",
);

export const podMetrics = message(
  `${metrics}.PodMetrics`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    timestamp: [2, time, "When the window ended."],
    window: [3, string, "The duration over which the usage was measured, as in 30s."],
    containers: [4, listMap(containerMetrics, "name"), "What each container used."],
  },
  "What a Pod used lately.",
);

export const nodeMetrics = message(
  `${metrics}.NodeMetrics`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    timestamp: [2, time, "When the window ended."],
    window: [3, string, "The duration over which the usage was measured, as in 30s."],
    usage: [4, map(quantity), "What it used, by resource."],
  },
  "What a node used lately.",
);
