/**
 * The usage of simulated Pods: their requests, or an annotation for each of their containers.
 *
 *     sim.kcp.io/usage: cpu=250m,memory=64Mi
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Pod, quantityOf } from "../api/index.ts";
import { annotationPrefix } from "./behaviour.ts";

export interface Usage {
  readonly cpu: string;
  readonly memory: string;
}

/** The usage of a container without requests. */
const idle: Usage = { cpu: "1m", memory: "8Mi" };
const window = "30s";

/** Undefined for Pods that do not run. */
export function podMetricsOf(pod: Pod, timestamp: string): JsonObject | undefined {
  if (pod.status?.phase !== "Running") return undefined;
  const { name, namespace = "", labels, creationTimestamp } = pod.metadata;
  const said = saidOf(pod);
  return {
    metadata: {
      name,
      namespace,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(labels === undefined ? {} : { labels: { ...labels } }),
    },
    timestamp,
    window,
    containers: pod.spec.containers.map((container) => ({
      name: container.name,
      usage: { ...idle, ...askedOf(container), ...said },
    })),
  };
}

/** The sum over its Pods, in nanocores and Ki as metrics-server reports them. */
export function nodeMetricsOf(
  node: string,
  pods: readonly JsonObject[],
  timestamp: string,
): JsonObject {
  const sum = (resource: keyof Usage) =>
    pods
      .flatMap((one) => one["containers"] as unknown as readonly { readonly usage: Usage }[])
      .reduce((total, { usage }) => total + quantityOf(usage[resource]), 0);
  const usage = {
    cpu: `${Math.round(sum("cpu") * 1e9)}n`,
    memory: `${Math.round(sum("memory") / 1024)}Ki`,
  };
  return { metadata: { name: node }, timestamp, window, usage };
}

type Container = Pod["spec"]["containers"][number];

function askedOf({ resources }: Container): Partial<Usage> {
  const { cpu, memory } = (resources?.requests ?? {}) as Partial<Usage>;
  return { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
}

function saidOf({ metadata }: Pod): Partial<Usage> {
  const text = metadata.annotations?.[`${annotationPrefix}usage`] ?? "";
  const pairs = text.split(",").map((pair) => pair.trim().split("=", 2));
  return Object.fromEntries(
    pairs.filter(([name, value = ""]) => (name === "cpu" || name === "memory") && value !== ""),
  ) as Partial<Usage>;
}
