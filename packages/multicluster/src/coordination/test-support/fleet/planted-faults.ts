/** Products with one fault each, for those who want to know what the laws are worth: what it does wrong, and what is said about it. */
import { rootCluster } from "@kcp-ts/machinery/names";
import { podsResource, requestedOrdinalsAnnotation } from "../../../api/index.ts";
import type { DecideInput, Decision } from "../../decide.ts";
import type { ClusterCopy, ClusterShare } from "../../members.ts";
import { selectorAnnotation } from "../../placement.ts";
import { placementHistoryAnnotation } from "../../placement-history.ts";
import type { Plan, PlanInput } from "../../plan-moves.ts";
import type { KindRollout } from "../../rolling/form.ts";
import { pausedAnnotation } from "../../rollout.ts";
import type { ClusterInfo } from "../../standing.ts";
import type { Strategy } from "../../strategy.ts";
import type { Workload } from "../../workload.ts";
import { type Implementation, implementation } from "./product.ts";

export interface SeededFault {
  /** What it does. */
  readonly does: string;
  readonly product: Implementation;
  /** What the law says that it breaks. */
  readonly found: RegExp;
  /** A history near which it is found. */
  readonly seed: number;
  /** Found where Locations bound what tenants use. */
  readonly isBounded?: boolean;
}

type Fault = Omit<SeededFault, "does" | "seed">;

/** It reads something that is not so. */
function reading(change: (input: DecideInput) => DecideInput): Implementation {
  return { ...implementation, decide: (input) => implementation.decide(change(input)) };
}

/** It does something else than it decided. */
function doing(change: (decision: Decision, input: DecideInput) => Decision): Implementation {
  return { ...implementation, decide: (input) => change(implementation.decide(input), input) };
}

function planning(
  change: (input: PlanInput, plan: (input: PlanInput) => Plan) => Plan,
): Implementation {
  return reading((input) => {
    const { strategy } = input;
    const plan: Strategy["plan"] = (wish, whole) =>
      change(wish, (changed) => strategy.plan(changed, whole));
    return { ...input, strategy: { ...strategy, plan } };
  });
}

function takingMembers(change: (member: ClusterShare) => ClusterShare): Implementation {
  return planning((input, plan) => plan({ ...input, members: input.members.map(change) }));
}

function takingParts(change: (part: ClusterCopy) => ClusterCopy): Implementation {
  return takingMembers((member) =>
    member.part === undefined ? member : { ...member, part: change(member.part) },
  );
}

function takingTargets(change: (target: ClusterInfo) => ClusterInfo): Implementation {
  return reading((input) => ({ ...input, targets: input.targets.map(change) }));
}

/** It rolls templates out in another way. */
function rollingOut(change: (form: KindRollout) => KindRollout): Implementation {
  return reading((input) => {
    const { strategy } = input;
    const { rolling } = strategy;
    if (rolling === undefined) return input;
    return { ...input, strategy: { ...strategy, rolling: change(rolling) } };
  });
}

/** Locations allow so many more, or fewer. */
function allowing(more: number): Implementation {
  return reading((input) => {
    const { surroundings } = input;
    const allowances = surroundings?.allowances?.map((one) => {
      const pods = Math.max(0, Number(one.bounds[podsResource]) + more);
      return { ...one, bounds: { [podsResource]: String(pods) } };
    });
    return { ...input, surroundings: { ...surroundings, allowances } };
  });
}

/** The whole says something else, or nothing, under this annotation. */
function annotated(input: DecideInput, annotation: string, text: string): DecideInput {
  const { metadata } = input.parent;
  const annotations = { ...metadata.annotations, [annotation]: text };
  return { ...input, parent: { ...input.parent, metadata: { ...metadata, annotations } } };
}

const ready = /are ready after a cut/;
const replaced = /stay ready when .* replaces its Pods/;
const sent = /is sent to/;
const atRest = /at rest/;

const faults: Readonly<Record<string, readonly [seed: number, fault: Fault]>> = {
  "takes for available what is not": [
    3,
    {
      product: takingParts((part) => ({ ...part, available: part.replicas, isObserved: true })),
      found: ready,
    },
  ],
  "counts reports that are about an older spec": [
    3,
    { product: takingParts((part) => ({ ...part, isObserved: true })), found: ready },
  ],
  "counts reports of a cluster that is just back": [
    56,
    { product: takingMembers((member) => ({ ...member, isTrusted: true })), found: ready },
  ],
  "takes away more than the budget spares": [
    3,
    {
      product: planning((input, plan) =>
        plan({
          ...input,
          ...(input.budget === undefined ? {} : { budget: { ...input.budget, unavailable: 100 } }),
        }),
      ),
      found: ready,
    },
  ],
  "empties a cluster before anything is elsewhere": [
    3,
    {
      product: planning((input, plan) => {
        const planned = plan(input);
        const next = new Map(planned.next);
        for (const { name, standing, part } of input.members)
          if (standing === "leaving" && part !== undefined) next.set(name, "remove");
        return { ...planned, next };
      }),
      found: ready,
    },
  ],
  "gives a newer template to all clusters at once": [
    0,
    {
      product: reading((input) => {
        const { rolling: _, ...strategy } = input.strategy;
        return { ...input, strategy };
      }),
      found: replaced,
    },
  ],
  "gives each cluster the whole of its author's numbers": [
    140,
    { product: rollingOut((form) => ({ ...form, paced: (spec) => spec })), found: replaced },
  ],
  "takes no notice of what is unavailable when Pods are replaced": [
    0,
    {
      product: rollingOut((form) => ({ ...form, available: (part) => form.pods(part, part.spec) })),
      found: replaced,
    },
  ],
  "takes away what it counts on while Pods are replaced elsewhere": [
    460,
    {
      product: takingParts((part) => ({ ...part, mayLose: 0 })),
      found: /after a cut in .* whatever is replaced/,
    },
  ],
  "rolls out though it is paused": [
    0,
    {
      product: reading((input) => {
        const { metadata } = input.parent;
        const { [pausedAnnotation]: _, ...annotations } = metadata.annotations ?? {};
        return { ...input, parent: { ...input.parent, metadata: { ...metadata, annotations } } };
      }),
      found: /is paused, and .* gets another template/,
    },
  ],
  "waits for ever with a newer template": [
    0,
    {
      product: rollingOut((form) => {
        const none = { unavailable: 0, surge: 0 };
        return { ...form, allowance: () => none, least: none };
      }),
      found: /has the newest at rest/,
    },
  ],
  "removes what a lost cluster has": [
    7,
    {
      product: takingMembers((member) =>
        member.standing === "lost" ? { ...member, standing: "gone" } : member,
      ),
      found: /is lost, and .* removed there/,
    },
  ],
  "takes away what replaced something that is still being removed": [
    0,
    {
      product: doing((decision, { strategy, parts }) => {
        const isGoing = ({ metadata }: Workload) => metadata.deletionTimestamp !== undefined;
        if (strategy.name !== "pods" || !parts.some(isGoing)) return decision;
        return { ...decision, removals: parts.filter((part) => !isGoing(part)) };
      }),
      found: /removed from .*, which may keep it/,
    },
  ],
  "takes SyncTargets that are not read yet for none": [
    3,
    {
      product: reading((input) => (input.nowMs % 20_000 === 0 ? { ...input, targets: [] } : input)),
      found: /removed from .*, which may keep it|are ready after a cut/,
    },
  ],
  "sends to a cordoned cluster": [
    7,
    {
      product: takingTargets((target) => ({ ...target, isUnschedulable: false })),
      found: sent,
    },
  ],
  "sends to a cluster that is drained": [
    10,
    { product: takingTargets((target) => ({ ...target, drain: undefined })), found: sent },
  ],
  "sends to a cluster that its author does not select": [
    4,
    {
      product: reading((input) => {
        const { metadata } = input.parent;
        const { [selectorAnnotation]: _, ...annotations } = metadata.annotations ?? {};
        return { ...input, parent: { ...input.parent, metadata: { ...metadata, annotations } } };
      }),
      found: sent,
    },
  ],
  "sends more than there is room for": [
    13,
    {
      product: takingTargets((target) => ({ ...target, allocatable: undefined })),
      found: /gets \d+ of .*, has \d+/,
    },
  ],
  "lets go what is held": [
    55,
    { product: takingParts((part) => ({ ...part, isHeld: false })), found: /is held by/ },
  ],
  "takes a silent cluster for stopped at once": [
    45,
    {
      product: takingTargets((target) =>
        target.lease?.silentSinceMs === undefined
          ? target
          : { ...target, lease: { ...target.lease, silentSinceMs: 0 } },
      ),
      found: /may run|run, |is kept by|runs in/,
    },
  ],
  "gives a number away before it is said to be gone": [
    17,
    {
      product: takingParts((part) => ({
        ...part,
        isObserved: true,
        ...(part.running === undefined ? {} : { running: part.replicas }),
      })),
      found: /runs in .* and|are ready after a cut/,
    },
  ],
  "gives a number to a cluster that its claim is not in": [
    3,
    {
      product: reading((input) => ({
        ...input,
        ...(input.related === undefined ? {} : { related: [] }),
        targets: input.targets.map((target) => ({ ...target, synced: undefined })),
      })),
      found: /its claim is in/,
    },
  ],
  "sends claims to a cluster that is not registered": [
    3,
    {
      product: doing((decision) => {
        const asks = decision.annotations?.[requestedOrdinalsAnnotation];
        if (asks === undefined) return decision;
        const gone = { ...JSON.parse(asks), c99: "9-9" };
        return {
          ...decision,
          annotations: { [requestedOrdinalsAnnotation]: JSON.stringify(gone) },
        };
      }),
      found: /claims are sent to c99/,
    },
  ],
  "starts a schedule beside the one that is to leave": [
    4,
    {
      product: takingMembers((member) => {
        const { part: _, ...rest } = member;
        return member.standing === "leaving" && member.part?.running === undefined ? rest : member;
      }),
      found: /is started in .* beside/,
    },
  ],
  "ends a Job's work to empty a cluster": [
    20,
    {
      product: doing((decision, { strategy, parts, targets }) => {
        if (strategy.name !== "jobs.batch" || decision.annotations !== undefined) return decision;
        const leaving = new Set(
          targets.filter(({ drain }) => drain === "all").map((one) => one.name),
        );
        const removals = parts.filter(({ metadata }) =>
          [...leaving].some((name) => metadata.name.includes(`--${name}`)),
        );
        return { ...decision, removals };
      }),
      found: /is taken away before its end/,
    },
  ],
  "begins anew what a Job's parts do": [
    2,
    {
      product: doing((decision, { strategy, parts }) => {
        if (strategy.name !== "jobs.batch" || parts.length === 0) return decision;
        const [first] = parts;
        if (first === undefined || parts.length > 3) return decision;
        const metadata = { ...first.metadata, name: `${first.metadata.name}-again` };
        const { uid: _, ...fresh } = metadata;
        return { ...decision, creations: [{ ...first, metadata: fresh }] };
      }),
      found: /are begun, \d+ are asked for|is sent to|run, /,
    },
  ],
  "brings all tenants into one namespace": [
    1,
    {
      product: {
        ...implementation,
        namespaceOf: (target, at) =>
          implementation.namespaceOf(target, { ...at, cluster: rootCluster }),
      },
      found: /is brought into .*, which is tenant/,
    },
  ],
  "waits in a drain for what has nowhere to go": [
    89,
    {
      product: {
        ...implementation,
        drainStep: (input) => {
          const occupants = input.occupants.map((one) => ({ ...one, block: undefined }));
          return implementation.drainStep({ ...input, occupants });
        },
      },
      found: /which is drained/,
    },
  ],
  "leaves what is superfluous where it is": [
    1,
    {
      product: doing((decision) => ({ ...decision, removals: [] })),
      found: /which is drained|at rest/,
    },
  ],
  "forgets what is missing": [
    0,
    { product: doing((decision) => ({ ...decision, creations: [] })), found: atRest },
  ],
  "gives more than a Location allows": [
    0,
    { product: allowing(1), isBounded: true, found: /it never allowed more than/ },
  ],
  "lets wait what there is room for": [
    0,
    { product: allowing(-1), isBounded: true, found: /waits though .* would take it/ },
  ],
  "stops what runs when bounds are lowered": [
    0,
    {
      product: reading((input) => {
        const nowhere = { time: "2026-01-01T00:00:00Z", replicas: 0, split: {}, because: [] };
        return annotated(input, placementHistoryAnnotation, JSON.stringify([nowhere]));
      }),
      isBounded: true,
      found: ready,
    },
  ],
  "says the same in other words again and again": [
    0,
    {
      product: doing((decision, { nowMs }) => ({
        ...decision,
        status: { ...decision.status, lookedAt: nowMs },
      })),
      found: /writes/,
    },
  ],
};

export const seededFaults: readonly SeededFault[] = Object.entries(faults).map(
  ([does, [seed, fault]]) => ({ does, seed, ...fault }),
);
