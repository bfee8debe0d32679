/**
 * The rules of the scheduler, as lists: `filterRules` decide whether a cluster may have replicas of
 * a workload, `scoreRules` how many in relation to others. `filter-and-score.ts` runs the lists,
 * and docs/internals/placement-rules.md is generated from them.
 *
 * A rule returns messages, each in the words of kube-scheduler where that has the same rule: equal
 * messages of several clusters are counted together. A cluster without messages passes.
 */
import type { Taint, Toleration } from "../api/index.ts";
import type { WorkloadAffinityTerms } from "./affinity.ts";
import type { ClusterCandidate } from "./candidate.ts";
import type { WorkloadPreferences } from "./filter-and-score.ts";
import type { Policy } from "./policy.ts";
import type { SchedulableWorkload } from "./workload.ts";

/**
 * Evict: existing replicas leave. Reject: no new replicas. Limit: no more replicas than it has.
 * Prefer: fewer, or more, than others. Keep: the replicas cannot leave.
 */
export type RuleEffect = "Evict" | "Reject" | "Limit" | "Prefer" | "Keep";

/** What a rule found about a cluster. */
export interface RuleRecord {
  readonly rule: string;
  readonly cluster: string;
  readonly verdict: RuleEffect;
  /** The same for all clusters that it is true of. */
  readonly message: string;
  /** The figures behind it. */
  readonly detail?: string | undefined;
}

/** A line of the rule book. */
export interface RuleDescription {
  readonly name: string;
  readonly verdict: RuleEffect;
  readonly does: string;
  /** The form of the message. */
  readonly form: string;
}

export interface RuleContext {
  readonly workload: SchedulableWorkload;
  readonly policy: Policy;
  readonly preferences: WorkloadPreferences | undefined;
  readonly affinity: WorkloadAffinityTerms;
}

export interface ClusterRule extends RuleDescription {
  check(candidate: ClusterCandidate, context: RuleContext): readonly string[];
}

const none: readonly string[] = [];

/** In the order in which their messages are shown. */
export const filterRules: readonly ClusterRule[] = [
  {
    name: "ClusterSelector",
    verdict: "Evict",
    does: "the workload's annotation cluster-selector selects clusters by the labels of their SyncTargets",
    form: "not selected by annotation cluster-selector <selector>",
    check: ({ labels }, { preferences }) =>
      preferences?.selector?.matches(labels) === false
        ? [`not selected by annotation cluster-selector ${preferences.selector}`]
        : none,
  },
  {
    name: "Location",
    verdict: "Evict",
    does: "the Location that a Placement has selected contains the cluster; the annotation cluster-selector replaces it",
    form: "not in Location <name> of Placement <name>",
    check(candidate, { policy: { selectedLocation: selected }, preferences }) {
      if (selected?.location === undefined || preferences?.selector !== undefined) return none;
      if (selected.includes(candidate)) return none;
      return [`not in Location ${selected.location} of Placement ${selected.placement}`];
    },
  },
  {
    name: "ZeroWeight",
    verdict: "Evict",
    does: "a weight of 0 excludes the cluster",
    form: "weight 0",
    check: ({ name }, context) => (weightOf(name, context) === 0 ? ["weight 0"] : none),
  },
  {
    name: "TaintNoExecute",
    verdict: "Evict",
    does: "the workload, or its policy, tolerates the cluster's NoExecute taints",
    form: "untolerated taint <key>=<value>:NoExecute",
    check: (candidate, context) => untolerated(candidate, context, "NoExecute"),
  },
  {
    name: "NoLocation",
    verdict: "Reject",
    does: "the Placement has found a Location",
    form: "Placement <name> has no Location",
    check(_, { policy: { selectedLocation }, preferences }) {
      const isPending = selectedLocation !== undefined && selectedLocation.location === undefined;
      if (!isPending || preferences?.selector !== undefined) return none;
      return [`Placement ${selectedLocation.placement} has no Location`];
    },
  },
  {
    name: "ServedAPI",
    verdict: "Reject",
    does: "the cluster syncs the workload's resource: its own API is compatible with the served one",
    form: "does not serve <resource> in a compatible way (kubectl get apiresourceimports says why)",
    check: ({ resources }, { workload: { resource } }) =>
      resources?.includes(resource) === false
        ? [
            `does not serve ${resource} in a compatible way (kubectl get apiresourceimports says why)`,
          ]
        : none,
  },
  {
    name: "TaintNoSchedule",
    verdict: "Reject",
    does: "the workload, or its policy, tolerates the cluster's NoSchedule taints",
    form: "untolerated taint <key>=<value>:NoSchedule",
    check: (candidate, context) => untolerated(candidate, context, "NoSchedule"),
  },
  {
    name: "WorkloadAffinity",
    verdict: "Reject",
    does: "required affinity and anti-affinity to other workloads of the namespace, by topology domain",
    form: "no workload <selector> is here; <name> is here, to be kept apart from",
    check: (candidate, { affinity }) => affinity.filterReasons(candidate),
  },
];

/**
 * Rules about replicas that exist: they need the results of all clusters, because replicas leave
 * only when the remaining clusters have capacity for all of them.
 */
export const evictionRules = {
  antiAffinity: {
    name: "AntiAffinityConflict",
    verdict: "Evict",
    does: "of two workloads that were scheduled before their required anti-affinity, one leaves",
    form: "<name> is here, to be kept apart from",
  },
  affinity: {
    name: "AffinityTarget",
    verdict: "Evict",
    does: "a workload follows the target of its required affinity",
    form: "no workload <selector> is here",
  },
} as const satisfies Readonly<Record<string, RuleDescription>>;

/** Each message of a preference divides the weight by ten; at most three count. */
export const scoreRules: readonly ClusterRule[] = [
  {
    name: "TaintPreferNoSchedule",
    verdict: "Prefer",
    does: "clusters without untolerated PreferNoSchedule taints come first",
    form: "untolerated taint <key>=<value>:PreferNoSchedule",
    check: (candidate, context) => untolerated(candidate, context, "PreferNoSchedule"),
  },
  {
    name: "PreferredAffinity",
    verdict: "Prefer",
    does: "clusters that satisfy preferred affinity and anti-affinity come first",
    form: "no workload <selector> is here; <name> is here, to be kept apart from",
    check: (candidate, { affinity }) => affinity.scorePenalties(candidate),
  },
];

/** The author's weight, which is a factor and not a preference. */
export const weightRule: RuleDescription = {
  name: "Weight",
  verdict: "Prefer",
  does: "replicas are divided in proportion to the weights of the workload, or of its policy",
  form: "weight <number>",
};

/** What is reserved: the most replicas that fit, existing ones included. */
export const capacityRule: RuleDescription = {
  name: "Capacity",
  verdict: "Limit",
  does: "the cluster's allocatable resources, or spec.resourceLimits of its SyncTarget, less the reservations of other workloads",
  form: "Insufficient <resource>; pod limit reached: 3/3 (SyncTarget <name>); workload limit reached: 3/3 (SyncTarget <name>)",
};

/** Constraints of the assignment over several clusters together. */
export const globalConstraints: readonly RuleDescription[] = [
  {
    name: "LocationLimit",
    verdict: "Limit",
    does: "spec.resourceLimits of a Location: what one workspace may use in all of its clusters together",
    form: "Insufficient <resource> (Location <name>); pod limit reached: 3/3 (Location <name>)",
  },
  {
    name: "TopologySpread",
    verdict: "Limit",
    does: "spec.spread of a Placement: replicas are divided evenly over topology domains, the widest first",
    form: "in <domain>",
  },
];

/** The messages of one verdict. */
export function messagesOf(
  result: { readonly records: readonly RuleRecord[] } | undefined,
  verdict: RuleEffect,
): readonly string[] {
  if (result === undefined || result.records.length === 0) return none;
  return result.records.filter((one) => one.verdict === verdict).map(({ message }) => message);
}

export function hasEffect(
  result: { readonly records: readonly RuleRecord[] } | undefined,
  verdict: RuleEffect,
): boolean {
  return result?.records.some((one) => one.verdict === verdict) === true;
}

/** The weights of the object replace those of the policy completely. */
export function weightOf(
  name: string,
  { policy, preferences }: Pick<RuleContext, "policy" | "preferences">,
): number {
  if (preferences !== undefined && preferences.weights.size > 0)
    return preferences.weights.get(name) ?? 1;
  return policy.weights?.[name] ?? 1;
}

function untolerated(
  { taints }: ClusterCandidate,
  { workload, policy: { tolerations = [] } }: RuleContext,
  effect: Taint["effect"],
): readonly string[] {
  if (taints === undefined) return none;
  const all = [...tolerations, ...workload.tolerations];
  return taints
    .filter((taint) => taint.effect === effect && !all.some(tolerates(taint)))
    .map(
      ({ key, value = "" }) =>
        `untolerated taint ${key}${value === "" ? "" : `=${value}`}:${effect}`,
    );
}

function tolerates(taint: Taint): (toleration: Toleration) => boolean {
  return ({ key = "", operator = "Equal", value = "", effect = "" as never }) => {
    if ((effect as string) !== "" && effect !== taint.effect) return false;
    if (operator === "Exists") return key === "" || key === taint.key;
    return key === taint.key && value === (taint.value ?? "");
  };
}
