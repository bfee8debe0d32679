/**
 * The metrics API of a simulated cluster, which metrics-server serves in a real one: the current
 * usage of Pods and nodes.
 */
import {
  type ComputedListRequest,
  type ComputedResource,
  nodeMetricsKind,
  podMetricsKind,
  type ResourceDefinition,
} from "@kcp-ts/apiserver/kinds";
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Client, timestamp } from "@kcp-ts/sdk";
import { nodes, pods } from "./api/index.ts";
import { nodeMetricsOf, podMetricsOf } from "./nodes/index.ts";

export function metricsKinds(client: () => Client, clock: Clock): readonly ResourceDefinition[] {
  const ofPods: ComputedResource = {
    async list(question) {
      const { namespace } = question;
      const options = { ...selectorsOf(question), ...(namespace === "" ? {} : { namespace }) };
      const { items } = await client().resource(pods).list(options);
      const at = timestamp(clock.now());
      return items.map((pod) => podMetricsOf(pod, at)).filter((one) => one !== undefined);
    },
  };
  const ofNodes: ComputedResource = {
    async list(question) {
      const [found, all] = await Promise.all([
        client().resource(nodes).list(selectorsOf(question)),
        client().resource(pods).list({ signal: question.signal }),
      ]);
      const at = timestamp(clock.now());
      const byNode = new Map<string, JsonObject[]>();
      for (const pod of all.items) {
        const metrics = podMetricsOf(pod, at);
        const { nodeName = "" } = pod.spec;
        if (metrics !== undefined) byNode.set(nodeName, [...(byNode.get(nodeName) ?? []), metrics]);
      }
      return found.items.map(({ metadata: { name } }) =>
        nodeMetricsOf(name, byNode.get(name) ?? [], at),
      );
    },
  };
  return [nodeMetricsKind(ofNodes), podMetricsKind(ofPods)];
}

function selectorsOf({ labelSelector, fieldSelector, signal }: ComputedListRequest) {
  return {
    ...(labelSelector === "" ? {} : { labelSelector }),
    ...(fieldSelector === "" ? {} : { fieldSelector }),
    signal,
  };
}
