/**
 * Affinity and anti-affinity between the workloads of a namespace, by the topology domains of
 * cluster labels.
 *
 * Required terms filter clusters for new replicas; preferred terms lower the score. While no target
 * of an affinity term is scheduled, the term has no effect: the first workload is scheduled as
 * without it.
 *
 * A workload that violates a required affinity, because its target was moved or lost, follows its
 * target. No workload follows one that follows it, so that they cannot move in circles; and a copy
 * in an Unreachable cluster is no affinity target.
 *
 * When two workloads violate a required anti-affinity (both were scheduled before the term
 * existed), one of them leaves. Both decide on the same one, and no workload leaves for one without
 * precedence, so that they cannot chase each other.
 */
import type { StringMap } from "@kcp-ts/sdk";
import type { WorkloadAffinity } from "../api/index.ts";
import type { ClusterCandidate } from "./candidate.ts";
import type { Policy } from "./policy.ts";
import { selectorOf } from "./selectors.ts";

export interface ExistingWorkload {
  readonly name: string;
  readonly labels: StringMap;
  /** The clusters in which the workload has, or is to have, replicas. */
  readonly clusters: readonly string[];
  /** With a required anti-affinity, this workload stays and the other one leaves. */
  readonly hasPrecedence?: boolean | undefined;
  /** The clusters of these that are Unreachable. */
  readonly unreachableClusters?: ReadonlySet<string> | undefined;
  /**
   * Whether workloads with a required affinity to this one follow it. Evaluated only when one of
   * them violates the affinity.
   */
  readonly isAffinityTarget?: boolean | undefined;
}

export interface WorkloadAffinityTerms {
  /** The reasons why the cluster is filtered out for new replicas. */
  filterReasons(candidate: ClusterCandidate): readonly string[];
  /** The preferred terms that the cluster does not satisfy. */
  scorePenalties(candidate: ClusterCandidate): readonly string[];
  /** Whether any existing replica may have to leave because of anti-affinity. */
  readonly hasAntiAffinityViolations: boolean;
  /** The reasons why existing replicas should leave the cluster, if another one is feasible. */
  antiAffinityViolations(candidate: ClusterCandidate): readonly string[];
  /** Whether any existing replica may have to follow its affinity target. */
  readonly mayViolateAffinity: boolean;
  /** The reasons why existing replicas should follow their affinity target, if it is feasible. */
  affinityViolations(candidate: ClusterCandidate): readonly string[];
  /** The reasons why the cluster is no destination: no affinity target is there. */
  missingAffinityTargets(candidate: ClusterCandidate): readonly string[];
}

interface AffinityTerm {
  readonly isRequired: boolean;
  isViolatedBy(candidate: ClusterCandidate): string | undefined;
}

const none: readonly string[] = [];
const noAffinity: WorkloadAffinityTerms = {
  filterReasons: () => none,
  scorePenalties: () => none,
  hasAntiAffinityViolations: false,
  antiAffinityViolations: () => none,
  mayViolateAffinity: false,
  affinityViolations: () => none,
  missingAffinityTargets: () => none,
};

export function affinityTermsOf(
  { affinity = [], antiAffinity = [] }: Policy,
  others: readonly ExistingWorkload[],
  candidates: readonly ClusterCandidate[],
): WorkloadAffinityTerms {
  if (affinity.length + antiAffinity.length === 0) return noAffinity;
  const labels = new Map(candidates.map((one) => [one.name, one.labels]));
  const terms = [
    ...affinity.map((term) => termOf(term, others, labels, true)),
    ...antiAffinity.map((term) => termOf(term, others, labels, false)),
  ].filter((term) => term !== undefined);
  const violated = (candidate: ClusterCandidate, isRequired: boolean) =>
    terms
      .filter((term) => term.isRequired === isRequired)
      .map((term) => term.isViolatedBy(candidate))
      .filter((text) => text !== undefined);
  const first = others.filter(({ hasPrecedence }) => hasPrecedence === true);
  const apart = antiAffinity
    .filter(({ required }) => required === true)
    .map((term) => termOf(term, first, labels, false))
    .filter((term) => term !== undefined);
  return {
    filterReasons: (candidate) => violated(candidate, true),
    scorePenalties: (candidate) => violated(candidate, false),
    hasAntiAffinityViolations: apart.length > 0,
    antiAffinityViolations: (candidate) =>
      apart.map((term) => term.isViolatedBy(candidate)).filter((text) => text !== undefined),
    ...nearness(affinity, others, labels),
  };
}

function nearness(
  affinity: readonly WorkloadAffinity[],
  others: readonly ExistingWorkload[],
  labels: ReadonlyMap<string, StringMap>,
): Pick<
  WorkloadAffinityTerms,
  "mayViolateAffinity" | "affinityViolations" | "missingAffinityTargets"
> {
  const near = affinity
    .filter(({ required }) => required === true)
    .map((term) => {
      let led: AffinityTerm | undefined | "unknown" = "unknown";
      return {
        toAny: termOf(term, others, labels, true),
        /** The affinity targets are computed on demand. */
        toLeaders() {
          if (led === "unknown") {
            const affinityTargets = others.filter((one) => one.isAffinityTarget === true);
            led = termOf(term, affinityTargets, labels, true);
          }
          return led;
        },
      };
    });
  const found = (texts: readonly (string | undefined)[]) =>
    texts.filter((text) => text !== undefined);
  return {
    mayViolateAffinity: near.some(({ toAny }) => toAny !== undefined),
    affinityViolations: (candidate) =>
      found(
        near.map(({ toAny, toLeaders }) => {
          const text = toAny?.isViolatedBy(candidate);
          return text === undefined || toLeaders() === undefined ? undefined : text;
        }),
      ),
    missingAffinityTargets: (candidate) =>
      found(near.map(({ toLeaders }) => toLeaders()?.isViolatedBy(candidate))),
  };
}

function termOf(
  { workloadSelector, topologyKey = "", required = false }: WorkloadAffinity,
  others: readonly ExistingWorkload[],
  labels: ReadonlyMap<string, StringMap>,
  isWanted: boolean,
): AffinityTerm | undefined {
  const selector = selectorOf(workloadSelector);
  const inDomain = new Map<string, string>();
  for (const other of others) {
    if (!selector.matches(other.labels)) continue;
    for (const cluster of other.clusters) {
      // The copy in an Unreachable cluster may still run, so anti-affinity counts it; affinity does
      // not rely on it.
      if (isWanted && other.unreachableClusters?.has(cluster) === true) continue;
      const domain = topologyKey === "" ? cluster : labels.get(cluster)?.[topologyKey];
      // The first name decides, so that the message does not depend on the order.
      const known = domain === undefined ? undefined : inDomain.get(domain);
      if (domain !== undefined && (known === undefined || other.name < known))
        inDomain.set(domain, other.name);
    }
  }
  if (inDomain.size === 0) return undefined;
  const where = topologyKey === "" ? "here" : `in this ${topologyKey}`;
  return {
    isRequired: required,
    isViolatedBy({ name, labels: own }) {
      const domain = topologyKey === "" ? name : own[topologyKey];
      const there = domain === undefined ? undefined : inDomain.get(domain);
      if (isWanted) return there === undefined ? `no workload ${selector} is ${where}` : undefined;
      return there === undefined ? undefined : `${there} is ${where}, to be kept apart from`;
    },
  };
}
