/** The rules of placement as data: docs/internals/placement-rules.md is generated from it. */
import {
  clusterStateRule,
  copyEverywhere,
  dividedReplicas,
  scheduledRules,
  singleOverlapping,
  singleRunningOnce,
  strategiesDefault,
} from "../coordination/index.ts";
import {
  capacityRule,
  evictionRules,
  filterRules,
  globalConstraints,
  type RuleDescription,
  scoreRules,
  weightRule,
} from "../scheduling/index.ts";

/** A claim keeps replicas that have to leave; `volumes/refusals.ts` has the reasons. */
export const volumeRule: RuleDescription = {
  name: "Volume",
  verdict: "Keep",
  does: "a PersistentVolumeClaim of the workload cannot leave its cluster",
  form: "<reason>: <message of the claim>",
};

export const ruleBook = {
  filter: [clusterStateRule, ...filterRules, ...Object.values(evictionRules), volumeRule],
  score: [weightRule, ...scoreRules],
  reserve: [capacityRule],
  assign: globalConstraints,
  /** The reasons of the condition Scheduled, in the order in which they are looked for. */
  reasons: scheduledRules,
  kinds: [
    ...strategiesDefault.map(({ workloads, capabilities }) => ({
      kind: workloads.kind,
      capabilities,
    })),
    { kind: "Pod that runs once, Indexed Job", capabilities: singleRunningOnce },
    { kind: "custom kind with Divide", capabilities: dividedReplicas },
    { kind: "custom kind with Duplicate", capabilities: copyEverywhere },
    { kind: "custom kind with Single", capabilities: singleOverlapping },
  ],
} as const;
