/**
 * The request for metrics of the Pods in one namespace, as the control plane sends it to a cluster.
 * Like Pod requests, it names the upstream namespace: the receiver in the cluster computes the
 * downstream namespace.
 */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import { isName } from "./pod-request.ts";

export interface MetricsRequest {
  readonly metrics: "pods";
  /** The logical cluster of the upstream namespace. */
  readonly cluster: ClusterName;
  readonly namespace: string;
  /** The name of one Pod in the cluster; all Pods if omitted. */
  readonly name?: string | undefined;
}

/** Parses a serialized request; undefined when it is invalid. */
export function readMetricsRequest(value: JsonValue): MetricsRequest | undefined {
  if (!isJsonObject(value)) return undefined;
  const { metrics, cluster, namespace, name } = value as Record<string, JsonValue | undefined>;
  const parsed = typeof cluster === "string" ? parseClusterName(cluster) : undefined;
  if (metrics !== "pods" || parsed === undefined || !isName(namespace)) return undefined;
  if (name !== undefined && !isName(name)) return undefined;
  return { metrics, cluster: parsed, namespace, ...(name === undefined ? {} : { name }) };
}
