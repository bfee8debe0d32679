/**
 * Affinity and anti-affinity between the workloads of a namespace: where others are, by the domains that labels of clusters make.
 *
 * What is required keeps new replicas away and moves none; what is preferred makes a share smaller. Where none of the others is anywhere yet, there is
 * nothing to be near to: the first one goes where it would go anyway.
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
}

export interface Affinity {
  /** Why nothing new goes there. */
  refusals(candidate: Candidate): readonly string[];
  /** Why rather somewhere else. */
  dislikes(candidate: Candidate): readonly string[];
}

interface Term {
  readonly isRequired: boolean;
  isViolatedBy(candidate: Candidate): string | undefined;
}

const none: readonly string[] = [];
const indifferent: Affinity = { refusals: () => none, dislikes: () => none };

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
  return {
    refusals: (candidate) => violated(candidate, true),
    dislikes: (candidate) => violated(candidate, false),
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
