/**
 * Affinity and anti-affinity between the workloads of a namespace: where others are, by the domains that labels of clusters make.
 *
 * What is required keeps new replicas away; what is preferred makes a share smaller. Where none of the others is anywhere yet, there is
 * nothing to be near to: the first one goes where it would go anyway.
 *
 * Those that must be apart and are not (they were before anybody said so) are put apart by one of them leaving. Which one is the same for both, and nobody
 * leaves for one that comes after it, so that they cannot chase each other.
 */
import type { StringMap } from "@kcp-ts/sdk";
import type { WorkloadAffinity } from "../api/index.ts";
import type { Candidate } from "./candidate.ts";
import type { Policy } from "./policy.ts";
import { selectorOf } from "./selectors.ts";

export interface Neighbour {
  readonly name: string;
  readonly labels: StringMap;
  /** Where it has, or is to have, replicas. */
  readonly clusters: readonly string[];
  /** Of two that must be apart, it is the one that stays. */
  readonly goesFirst?: boolean | undefined;
}

export interface Affinity {
  /** Why nothing new goes there. */
  refusals(candidate: Candidate): readonly string[];
  /** Why rather somewhere else. */
  dislikes(candidate: Candidate): readonly string[];
  /** Whether anything may have to leave for others. */
  readonly hasConflicts: boolean;
  /** Why what is there should leave, if it can. */
  conflicts(candidate: Candidate): readonly string[];
}

interface Term {
  readonly isRequired: boolean;
  isViolatedBy(candidate: Candidate): string | undefined;
}

const none: readonly string[] = [];
const indifferent: Affinity = {
  refusals: () => none,
  dislikes: () => none,
  hasConflicts: false,
  conflicts: () => none,
};

export function affinityTo(
  { affinity = [], antiAffinity = [] }: Policy,
  others: readonly Neighbour[],
  candidates: readonly Candidate[],
): Affinity {
  if (affinity.length + antiAffinity.length === 0) return indifferent;
  const labels = new Map(candidates.map((one) => [one.name, one.labels]));
  const terms = [
    ...affinity.map((term) => termOf(term, others, labels, true)),
    ...antiAffinity.map((term) => termOf(term, others, labels, false)),
  ].filter((term) => term !== undefined);
  const violated = (candidate: Candidate, isRequired: boolean) =>
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
  };
}

function termOf(
  { workloadSelector, topologyKey = "", required = false }: WorkloadAffinity,
  others: readonly Neighbour[],
  labels: ReadonlyMap<string, StringMap>,
  isWanted: boolean,
): Term | undefined {
  const selector = selectorOf(workloadSelector);
  const inDomain = new Map<string, string>();
  for (const other of others) {
    if (!selector.matches(other.labels)) continue;
    for (const cluster of other.clusters) {
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
