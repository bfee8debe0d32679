/**
 * A question about what the Pods of one namespace use, as it travels from the control plane to a cluster. Like requests about Pods it names the namespace upstream: whoever is
 * in the cluster computes which one is meant there.
 */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import { isName } from "./pod-request.ts";

export interface MetricsRequest {
  readonly metrics: "pods";
  /** Of the namespace, upstream. */
  readonly cluster: ClusterName;
  readonly namespace: string;
  /** Of one Pod, in the cluster; of all if left out. */
  readonly name?: string | undefined;
}

/** A question as it came over a wire; undefined when it is none. */
export function readMetricsRequest(value: JsonValue): MetricsRequest | undefined {
  if (!isJsonObject(value)) return undefined;
  const { metrics, cluster, namespace, name } = value as Record<string, JsonValue | undefined>;
  const parsed = typeof cluster === "string" ? parseClusterName(cluster) : undefined;
  if (metrics !== "pods" || parsed === undefined || !isName(namespace)) return undefined;
  if (name !== undefined && !isName(name)) return undefined;
  return { metrics, cluster: parsed, namespace, ...(name === undefined ? {} : { name }) };
}
