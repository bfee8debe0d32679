/**
 * HorizontalPodAutoscalers without metrics: they keep their target within minReplicas and
 * maxReplicas, and an annotation simulates load by setting the desired replicas:
 * `sim.kcp.io/desired-replicas: "7"`.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import {
  type Client,
  Controller,
  type ObjectKey,
  type ReconcileResult,
  timestamp,
} from "@kcp-ts/sdk";
import {
  type Condition,
  deployments,
  type HorizontalPodAutoscaler,
  horizontalPodAutoscalers,
  isTerminating,
  replicaSets,
  statefulSets,
  writeStatus,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";

const wishAnnotation = "sim.kcp.io/desired-replicas";
const lookAgainMs = 15_000;
const targets = [deployments, replicaSets, statefulSets] as const;

interface Scale {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly replicas?: number };
}

export function autoscalerController(context: WorkloadContext): Controller {
  const found = context.clusters.source(horizontalPodAutoscalers);
  return new Controller({
    name: "horizontalpodautoscaler",
    ...context,
    async reconcile(key: ObjectKey, { client }): Promise<ReconcileResult> {
      const scaler = found.store.get(key);
      if (scaler === undefined || isTerminating(scaler)) return undefined;
      await scale(scaler, client, context.clock.now());
      return { requeueAfterMs: lookAgainMs };
    },
  }).watch(horizontalPodAutoscalers);
}

async function scale(
  scaler: HorizontalPodAutoscaler,
  client: Client,
  nowMs: number,
): Promise<void> {
  const { scaleTargetRef, minReplicas = 1, maxReplicas } = scaler.spec;
  const target = targets.find(({ kind }) => kind === scaleTargetRef.kind);
  const { namespace = "" } = scaler.metadata;
  const name = { name: scaleTargetRef.name, namespace };
  const endpoint = target && client.resource(target).subresource<Scale>("scale");
  const isThere = target !== undefined && (await client.resource(target).find(name)) !== undefined;
  if (endpoint === undefined || !isThere) {
    const condition = able(
      "False",
      "FailedGetScale",
      "the scale target was not found",
      scaler,
      nowMs,
    );
    return write(scaler, { desiredReplicas: 0, conditions: [condition] }, client);
  }
  const present = await endpoint.get(name);
  const replicas = present.spec?.replicas ?? 0;
  const wish = Number(scaler.metadata.annotations?.[wishAnnotation] ?? replicas);
  // 0 replicas disable scaling.
  const desired = replicas === 0 ? 0 : Math.min(maxReplicas, Math.max(minReplicas, wish));
  if (desired !== replicas)
    await endpoint.patch(name, { type: "merge", patch: { spec: { replicas: desired } } });
  await write(
    scaler,
    {
      currentReplicas: present.status?.replicas ?? 0,
      desiredReplicas: desired,
      ...(desired !== replicas
        ? { lastScaleTime: timestamp(nowMs) }
        : scaler.status?.lastScaleTime === undefined
          ? {}
          : { lastScaleTime: scaler.status.lastScaleTime }),
      conditions: [
        able(
          "True",
          "SucceededGetScale",
          "the HPA controller was able to get the target's current scale",
          scaler,
          nowMs,
        ),
      ],
    },
    client,
  );
}

function able(
  status: string,
  reason: string,
  message: string,
  scaler: HorizontalPodAutoscaler,
  nowMs: number,
): Condition {
  const known = scaler.status?.conditions?.find(({ type }) => type === "AbleToScale");
  const since = known?.status === status ? known.lastTransitionTime : undefined;
  return {
    type: "AbleToScale",
    status,
    lastTransitionTime: since ?? timestamp(nowMs),
    reason,
    message,
  };
}

async function write(
  scaler: HorizontalPodAutoscaler,
  status: NonNullable<HorizontalPodAutoscaler["status"]>,
  client: Client,
): Promise<void> {
  if (!jsonEqual(status as unknown as JsonValue, (scaler.status ?? {}) as unknown as JsonValue))
    await writeStatus(client, horizontalPodAutoscalers, scaler, status);
}
