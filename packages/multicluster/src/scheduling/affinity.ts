/**
 * Affinity and anti-affinity between the workloads of a namespace: where others are, by the domains that labels of clusters make.
 *
 * What is required keeps new replicas away; what is preferred makes a share smaller. Where none of the others is anywhere yet, there is
 * nothing to be near to: the first one goes where it would go anyway.
 *
 * Those that must be near others and are not, because these were moved or lost, go after them. Nobody goes after one that goes after them, so that they cannot run in
 * circles; and nobody is near to what a lost cluster had.
 *
 * Those that must be apart and are not (they were before anybody said so) are put apart by one of them leaving. Which one is the same for both, and nobody
 * leaves for one that comes after it, so that they cannot chase each other.
 */
import type { StringMap } from "@kcp-ts/sdk";
import type { WorkloadAffinity } from "../api/index.ts";
import type { ClusterCandidate } from "./candidate.ts";
import type { Policy } from "./policy.ts";
import { selectorOf } from "./selectors.ts";

export interface ExistingWorkload {
  readonly name: string;
  readonly labels: StringMap;
  /** Where it has, or is to have, replicas. */
  readonly clusters: readonly string[];
  /** Of two that must be apart, it is the one that stays. */
  readonly goesFirst?: boolean | undefined;
  /** Those of the clusters that are lost. */
  readonly lost?: ReadonlySet<string> | undefined;
  /** Who must be near it goes where it goes. Asked for only when somebody is not near. */
  readonly leads?: boolean | undefined;
}

export interface WorkloadAffinityTerms {
  /** Why nothing new goes there. */
  refusals(candidate: ClusterCandidate): readonly string[];
  /** Why rather somewhere else. */
  dislikes(candidate: ClusterCandidate): readonly string[];
  /** Whether anything may have to leave for others. */
  readonly hasConflicts: boolean;
  /** Why what is there should leave, if it can. */
  conflicts(candidate: ClusterCandidate): readonly string[];
  /** Whether anything may have to go after others. */
  readonly mayStray: boolean;
  /** Why what is there should go where others are, if it can. */
  strays(candidate: ClusterCandidate): readonly string[];
  /** Why that is not here: nobody is whom it goes after. */
  unled(candidate: ClusterCandidate): readonly string[];
}

interface AffinityTerm {
  readonly isRequired: boolean;
  isViolatedBy(candidate: ClusterCandidate): string | undefined;
}

const none: readonly string[] = [];
const noAffinity: WorkloadAffinityTerms = {
  refusals: () => none,
  dislikes: () => none,
  hasConflicts: false,
  conflicts: () => none,
  mayStray: false,
  strays: () => none,
  unled: () => none,
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
  const first = others.filter(({ goesFirst }) => goesFirst === true);
  const apart = antiAffinity
    .filter(({ required }) => required === true)
    .map((term) => termOf(term, first, labels, false))
    .filter((term) => term !== undefined);
  return {
    refusals: (candidate) => violated(candidate, true),
    dislikes: (candidate) => violated(candidate, false),
    hasConflicts: apart.length > 0,
    conflicts: (candidate) =>
      apart.map((term) => term.isViolatedBy(candidate)).filter((text) => text !== undefined),
    ...nearness(affinity, others, labels),
  };
}

function nearness(
  affinity: readonly WorkloadAffinity[],
  others: readonly ExistingWorkload[],
  labels: ReadonlyMap<string, StringMap>,
): Pick<WorkloadAffinityTerms, "mayStray" | "strays" | "unled"> {
  const near = affinity
    .filter(({ required }) => required === true)
    .map((term) => {
      let led: AffinityTerm | undefined | "unknown" = "unknown";
      return {
        toAny: termOf(term, others, labels, true),
        /** Who leads is found out when it is asked for. */
        toLeaders() {
          if (led === "unknown") {
            const leaders = others.filter((one) => one.leads === true);
            led = termOf(term, leaders, labels, true);
          }
          return led;
        },
      };
    });
  const found = (texts: readonly (string | undefined)[]) =>
    texts.filter((text) => text !== undefined);
  return {
    mayStray: near.some(({ toAny }) => toAny !== undefined),
    strays: (candidate) =>
      found(
        near.map(({ toAny, toLeaders }) => {
          const text = toAny?.isViolatedBy(candidate);
          return text === undefined || toLeaders() === undefined ? undefined : text;
        }),
      ),
    unled: (candidate) => found(near.map(({ toLeaders }) => toLeaders()?.isViolatedBy(candidate))),
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
      // What a lost cluster has may run on, so one keeps away from it; but nobody can count on it.
      if (isWanted && other.lost?.has(cluster) === true) continue;
      const domain = topologyKey === "" ? cluster : labels.get(cluster)?.[topologyKey];
      // The same words whichever is met first.
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
