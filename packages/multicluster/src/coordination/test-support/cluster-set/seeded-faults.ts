/**
 * Implementations with one seeded fault each, which show that the invariants detect them: the
 * fault, and the message of the invariant.
 */
import { rootCluster } from "@kcp-ts/machinery/names";
import { podsResource } from "../../../api/index.ts";
import type { ClusterInfo } from "../../cluster-state.ts";
import type { DecideInput, Decision } from "../../decide.ts";
import { selectorAnnotation } from "../../placement.ts";
import type { KindRollout } from "../../rollout/kind-rollout.ts";
import { pausedAnnotation } from "../../rollout-policy.ts";
import type { ClusterCopy, ClusterShare, PlanInput } from "../../stepper/cluster-share.ts";
import type { Plan } from "../../stepper/plan.ts";
import { step } from "../../stepper/step.ts";
import type { Workload } from "../../workload.ts";
import { type Implementation, implementation } from "./implementation.ts";

export interface SeededFault {
  /** The behaviour of the fault. */
  readonly breaks: string;
  readonly implementation: Implementation;
  /** The message of the invariant that it breaks. */
  readonly found: RegExp;
  /** A seed near the history that finds it. */
  readonly seed: number;
  /** Whether the fault needs limits of Locations. */
  readonly isLimited?: boolean;
}

type Fault = Omit<SeededFault, "breaks" | "seed">;

/** An implementation that reads a changed input. */
function reading(change: (input: DecideInput) => DecideInput): Implementation {
  return { ...implementation, decide: (input) => implementation.decide(change(input)) };
}

/** An implementation that changes its decision. */
function doing(change: (decision: Decision, input: DecideInput) => Decision): Implementation {
  return { ...implementation, decide: (input) => change(implementation.decide(input), input) };
}

function planning(
  change: (input: PlanInput, plan: (input: PlanInput) => Plan) => Plan,
): Implementation {
  return reading((input) => ({
    ...input,
    step: (wish, capabilities) => change(wish, (changed) => step(changed, capabilities)),
  }));
}

function takingMembers(change: (share: ClusterShare) => ClusterShare): Implementation {
  return planning((input, plan) => plan({ ...input, clusters: input.clusters.map(change) }));
}

function takingParts(change: (copy: ClusterCopy) => ClusterCopy): Implementation {
  return takingMembers((share) =>
    share.copy === undefined ? share : { ...share, copy: change(share.copy) },
  );
}

function takingTargets(change: (target: ClusterInfo) => ClusterInfo): Implementation {
  return reading((input) => ({ ...input, targets: input.targets.map(change) }));
}

/** An implementation with another rollout. */
function rollingOut(change: (kindRollout: KindRollout) => KindRollout): Implementation {
  return reading((input) => {
    const { strategy } = input;
    const { rollout } = strategy;
    if (rollout === undefined) return input;
    return { ...input, strategy: { ...strategy, rollout: change(rollout) } };
  });
}

/** An implementation that reads higher or lower limits of Locations. */
function allowing(more: number): Implementation {
  return reading((input) => {
    const { scheduling } = input;
    const locationLimits = scheduling?.locationLimits?.map((one) => {
      const pods = Math.max(0, Number(one.resourceLimits[podsResource]) + more);
      return { ...one, resourceLimits: { [podsResource]: String(pods) } };
    });
    return { ...input, scheduling: { ...scheduling, locationLimits } };
  });
}

const ready = /are ready after a cut/;
const replaced = /stay ready when .* replaces its Pods/;
const sent = /is sent to/;
const atRest = /at rest/;

const faults: Readonly<Record<string, readonly [seed: number, fault: Fault]>> = {
  "counts unavailable replicas as available": [
    3,
    {
      implementation: takingParts((copy) => ({
        ...copy,
        available: copy.replicas,
        isObserved: true,
      })),
      found: ready,
    },
  ],
  "counts reports about an older spec": [
    3,
    { implementation: takingParts((copy) => ({ ...copy, isObserved: true })), found: ready },
  ],
  "counts reports of a Recovering cluster": [
    56,
    { implementation: takingMembers((share) => ({ ...share, isTrusted: true })), found: ready },
  ],
  "scales down by more than maxUnavailable": [
    3,
    {
      implementation: planning((input, plan) =>
        plan({
          ...input,
          ...(input.budget === undefined ? {} : { budget: { ...input.budget, unavailable: 100 } }),
        }),
      ),
      found: ready,
    },
  ],
  "drains a cluster before any replacement exists": [
    3,
    {
      implementation: planning((input, plan) => {
        const planned = plan(input);
        const next = new Map(planned.next);
        for (const { name, state, copy } of input.clusters)
          if (state === "Draining" && copy !== undefined) next.set(name, "remove");
        return { ...planned, next };
      }),
      found: ready,
    },
  ],
  "updates the template of all clusters at once": [
    0,
    {
      implementation: reading((input) => {
        const { rollout: _, ...strategy } = input.strategy;
        return { ...input, strategy };
      }),
      found: replaced,
    },
  ],
  "gives each cluster the complete rolling update limits": [
    140,
    {
      implementation: rollingOut((kindRollout) => ({ ...kindRollout, withLimits: (spec) => spec })),
      found: replaced,
    },
  ],
  "ignores unavailable Pods during a rollout": [
    0,
    {
      implementation: rollingOut((kindRollout) => ({
        ...kindRollout,
        available: (copy) => kindRollout.pods(copy, copy.spec),
      })),
      found: replaced,
    },
  ],
  "scales down replicas that a rollout elsewhere relies on": [
    30,
    {
      implementation: takingParts((copy) => ({ ...copy, rolloutUnavailable: 0 })),
      found: /after a cut in .* whatever is replaced/,
    },
  ],
  "rolls out though the workload is paused": [
    0,
    {
      implementation: reading((input) => {
        const { metadata } = input.parent;
        const { [pausedAnnotation]: _, ...annotations } = metadata.annotations ?? {};
        return { ...input, parent: { ...input.parent, metadata: { ...metadata, annotations } } };
      }),
      found: /is paused, and .* gets another template/,
    },
  ],
  "never rolls out a newer template": [
    0,
    {
      implementation: rollingOut((kindRollout) => {
        const none = { unavailable: 0, surge: 0 };
        return { ...kindRollout, modeOf: () => none, minimumLimits: none };
      }),
      found: /has the newest at rest/,
    },
  ],
  "removes the copy of an Unreachable cluster": [
    7,
    {
      implementation: takingMembers((share) =>
        share.state === "Unreachable" ? { ...share, state: "Unregistered" } : share,
      ),
      found: /is lost, and .* removed there/,
    },
  ],
  "scales down the replacement of a copy that is still being removed": [
    0,
    {
      implementation: doing((decision, { strategy, copies }) => {
        const isGoing = ({ metadata }: Workload) => metadata.deletionTimestamp !== undefined;
        if (strategy.name !== "pods" || !copies.some(isGoing)) return decision;
        return { ...decision, removals: copies.filter((copy) => !isGoing(copy)) };
      }),
      found: /removed from .*, which may keep it/,
    },
  ],
  "treats SyncTargets that are not listed yet as Unregistered": [
    3,
    {
      implementation: reading((input) =>
        input.nowMs % 20_000 === 0 ? { ...input, targets: [] } : input,
      ),
      found: /removed from .*, which may keep it|are ready after a cut/,
    },
  ],
  "schedules to a Cordoned cluster": [
    7,
    {
      implementation: takingTargets((target) => ({ ...target, isUnschedulable: false })),
      found: sent,
    },
  ],
  "schedules to a Draining cluster": [
    10,
    { implementation: takingTargets((target) => ({ ...target, drain: undefined })), found: sent },
  ],
  "schedules to a cluster that its author does not select": [
    4,
    {
      implementation: reading((input) => {
        const { metadata } = input.parent;
        const { [selectorAnnotation]: _, ...annotations } = metadata.annotations ?? {};
        return { ...input, parent: { ...input.parent, metadata: { ...metadata, annotations } } };
      }),
      found: sent,
    },
  ],
  "schedules more than the capacity": [
    13,
    {
      implementation: takingTargets((target) => ({ ...target, allocatable: undefined })),
      found: /gets \d+ of .*, has \d+/,
    },
  ],
  "removes a copy whose disruption is blocked": [
    84,
    {
      implementation: takingParts((copy) => ({ ...copy, isDisruptionBlocked: false })),
      found: /is held by/,
    },
  ],
  "treats a cluster as fenced at its first missed heartbeat": [
    45,
    {
      implementation: takingTargets((target) =>
        target.lease?.silentSinceMs === undefined
          ? target
          : { ...target, lease: { ...target.lease, silentSinceMs: 0 } },
      ),
      found: /may run|run, |is kept by|runs in/,
    },
  ],
  "moves an ordinal before its cluster reports that it stopped": [
    17,
    {
      implementation: takingParts((copy) => ({
        ...copy,
        isObserved: true,
        ...(copy.running === undefined ? {} : { running: copy.replicas }),
      })),
      found: /runs in .* and|are ready after a cut/,
    },
  ],
  "moves an ordinal to a cluster without its claim": [
    3,
    {
      implementation: reading((input) => ({
        ...input,
        ...(input.related === undefined ? {} : { related: [] }),
        targets: input.targets.map((target) => ({ ...target, synced: undefined })),
      })),
      found: /its claim is in/,
    },
  ],
  "requests claims in an Unregistered cluster": [
    3,
    {
      implementation: doing((decision) => {
        const { clusters = [] } = decision.record;
        if (!clusters.some((one) => one.ordinals !== undefined)) return decision;
        const gone = { name: "c99", ordinals: { start: 9, end: 10 } };
        return { ...decision, record: { ...decision.record, clusters: [...clusters, gone] } };
      }),
      found: /claims are sent to c99/,
    },
  ],
  "starts a schedule while another cluster still runs it": [
    4,
    {
      implementation: takingMembers((share) => {
        const { copy: _, ...rest } = share;
        return share.state === "Draining" && share.copy?.running === undefined ? rest : share;
      }),
      found: /is started in .* beside/,
    },
  ],
  "stops a Job's work to drain a cluster": [
    205,
    {
      implementation: doing((decision, { strategy, copies, targets }) => {
        if (strategy.name !== "jobs.batch") return decision;
        const leaving = new Set(
          targets.filter(({ drain }) => drain === "All").map((one) => one.name),
        );
        const removals = copies.filter(({ metadata }) =>
          [...leaving].some((name) => metadata.name.includes(`--${name}`)),
        );
        return { ...decision, removals };
      }),
      found: /is taken away before its end/,
    },
  ],
  "starts again the completions that a Job's copies do": [
    2,
    {
      implementation: doing((decision, { strategy, copies }) => {
        if (strategy.name !== "jobs.batch" || copies.length === 0) return decision;
        const [first] = copies;
        if (first === undefined || copies.length > 3) return decision;
        const metadata = { ...first.metadata, name: `${first.metadata.name}-again` };
        const { uid: _, ...fresh } = metadata;
        return { ...decision, creations: [{ ...first, metadata: fresh }] };
      }),
      found: /are begun, \d+ are asked for|is sent to|run, /,
    },
  ],
  "syncs all tenants into one namespace": [
    1,
    {
      implementation: {
        ...implementation,
        namespaceOf: (target, at) =>
          implementation.namespaceOf(target, { ...at, cluster: rootCluster }),
      },
      found: /is brought into .*, which is tenant/,
    },
  ],
  "lets a drain wait for workloads without a feasible cluster": [
    1058,
    {
      implementation: {
        ...implementation,
        drainStep: (input) => {
          const objects = input.objects.map((one) => ({ ...one, pending: undefined }));
          return implementation.drainStep({ ...input, objects });
        },
      },
      found: /which is drained/,
    },
  ],
  "never removes surplus replicas": [
    1,
    {
      implementation: doing((decision) => ({ ...decision, removals: [] })),
      found: /which is drained|at rest/,
    },
  ],
  "never starts missing replicas": [
    0,
    { implementation: doing((decision) => ({ ...decision, creations: [] })), found: atRest },
  ],
  "schedules more than a Location permits": [
    0,
    { implementation: allowing(1), isLimited: true, found: /it never allowed more than/ },
  ],
  "lets replicas wait though capacity exists": [
    0,
    { implementation: allowing(-1), isLimited: true, found: /waits though .* would take it/ },
  ],
  "stops running replicas when limits are lowered": [
    0,
    {
      implementation: reading((input) => {
        const clusters = input.record?.clusters?.map((one) => ({
          ...one,
          desired: 0,
          retained: 0,
        }));
        return { ...input, record: { ...input.record, observedGeneration: 1, clusters } } as never;
      }),
      isLimited: true,
      found: ready,
    },
  ],
  "writes an equivalent status again and again": [
    0,
    {
      implementation: doing((decision, { nowMs }) => ({
        ...decision,
        status: { ...decision.status, lookedAt: nowMs },
      })),
      found: /writes/,
    },
  ],
};

export const seededFaults: readonly SeededFault[] = Object.entries(faults).map(
  ([breaks, [seed, fault]]) => ({ breaks, seed, ...fault }),
);
