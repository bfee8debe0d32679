/** PodDisruptionBudgets: the number of selected Pods that may be disrupted. */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { selectorFromLabelSelectorObject } from "@kcp-ts/machinery/selectors";
import { byNamespace, Controller, type Indexers, type ObjectKey, timestamp } from "@kcp-ts/sdk";
import {
  isActive,
  isReady,
  isTerminating,
  type Pod,
  type PodDisruptionBudget,
  podDisruptionBudgets,
  pods,
  writeStatus,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { amount } from "./rollout.ts";

export function disruptionBudgetController(context: WorkloadContext): Controller {
  const found = context.clusters.source<PodDisruptionBudget>(podDisruptionBudgets, {
    indexers: byNamespace as Indexers<PodDisruptionBudget>,
  });
  const running = context.clusters.source<Pod>(pods);
  return new Controller({
    name: "disruption",
    ...context,
    async reconcile(key: ObjectKey, { client }) {
      const budget = found.store.get(key);
      if (budget === undefined || isTerminating(budget)) return;
      const { cluster, namespace } = key;
      const selected = running.store
        .list({ cluster, namespace })
        .filter((pod) => covers(budget, pod));
      const status = budgetStatus(budget, selected, context.clock.now());
      if (!jsonEqual(status as unknown as JsonValue, (budget.status ?? {}) as unknown as JsonValue))
        await writeStatus(client, podDisruptionBudgets, budget, status);
    },
  })
    .watch(podDisruptionBudgets)
    .watch(pods, {
      *map(_pod, { cluster, namespace }) {
        for (const { metadata } of found.store.byIndex("namespace", { cluster, value: namespace }))
          yield { cluster, namespace, name: metadata.name };
      },
    });
}

export function covers({ spec }: PodDisruptionBudget, { metadata }: Pod): boolean {
  if (spec.selector === undefined) return false;
  return selectorFromLabelSelectorObject(spec.selector).matches(metadata.labels ?? {});
}

export function budgetStatus(
  budget: PodDisruptionBudget,
  selected: readonly Pod[],
  nowMs: number,
): NonNullable<PodDisruptionBudget["status"]> {
  const { minAvailable, maxUnavailable } = budget.spec;
  const active = selected.filter(isActive);
  const expectedPods = active.length;
  const desiredHealthy =
    maxUnavailable !== undefined
      ? Math.max(0, expectedPods - amount(maxUnavailable, expectedPods, Math.ceil))
      : amount(minAvailable ?? 1, expectedPods, Math.ceil);
  const currentHealthy = active.filter(isReady).length;
  const disruptionsAllowed = expectedPods === 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const known = budget.status?.conditions?.[0];
  const state = disruptionsAllowed > 0 ? "True" : "False";
  return {
    observedGeneration: budget.metadata.generation ?? 0,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    conditions: [
      {
        type: "DisruptionAllowed",
        status: state,
        reason: disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods",
        message: "",
        lastTransitionTime:
          known?.status === state ? (known.lastTransitionTime ?? "") : timestamp(nowMs),
      },
    ],
  };
}
