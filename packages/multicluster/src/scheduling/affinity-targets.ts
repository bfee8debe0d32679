/**
 * The affinity targets that a workload follows: those whose own placement does not depend on it. Of
 * workloads with affinity to each other, the later by name follow the earlier ones. A target with
 * an anti-affinity to the workload, or to one that follows it, is not followed at all: the moves
 * would never end.
 *
 *     web ──affinity──▶ cache ──affinity──▶ db        web follows cache, cache follows db
 *     a ──affinity──▶ b ──affinity──▶ a               b follows a
 *     web ──affinity──▶ cache ──anti-affinity──▶ web  no workload follows another
 *
 * Workloads with the same policy depend on the same ones, so dependencies are computed for
 * policies, of which a namespace has few.
 */
import type { StringMap } from "@kcp-ts/sdk";
import type { WorkloadAffinity } from "../api/index.ts";
import type { Policy } from "./policy.ts";
import { selectorOf } from "./selectors.ts";

export interface AffinitySubject {
  readonly name: string;
  readonly resource: string;
  readonly labels: StringMap;
  readonly policy: Policy;
}

type AffinityKind = "affinity" | "antiAffinity";

/** The targets are computed at the first call. */
export function affinityTargetsOf<Other extends AffinitySubject>(
  self: AffinitySubject,
  others: readonly Other[],
): (other: Other) => boolean {
  let dependents: Dependents | undefined;
  return (other) => {
    dependents ??= dependentsOf(self, others);
    const ways = dependents.get(termsOf(other.policy).id);
    if (ways === undefined) return true;
    return !ways.has("antiAffinity") && orderOf(other) < orderOf(self);
  };
}

function orderOf({ name, resource }: AffinitySubject): string {
  return `${name} ${resource}`;
}

/**
 * By policy: the kinds of terms by which workloads with this policy depend on a workload, directly
 * or through others.
 */
type Dependents = ReadonlyMap<string, ReadonlySet<AffinityKind>>;

function dependentsOf(self: AffinitySubject, others: readonly AffinitySubject[]): Dependents {
  const members = new Map<
    string,
    { readonly terms: AffinityDependencies; readonly labels: StringMap[] }
  >();
  for (const { policy, labels } of others) {
    const terms = termsOf(policy);
    const known = members.get(terms.id);
    if (known === undefined) members.set(terms.id, { terms, labels: [labels] });
    else known.labels.push(labels);
  }
  const found = new Map<string, Set<AffinityKind>>();
  const waiting: { readonly labels: readonly StringMap[]; readonly way: AffinityKind }[] = [
    { labels: [self.labels], way: "affinity" },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const [id, { terms, labels }] of members)
      for (const way of terms.kindsTo(next.labels)) {
        const along: AffinityKind = way === "antiAffinity" ? "antiAffinity" : next.way;
        const known = found.get(id) ?? new Set();
        if (known.has(along)) continue;
        found.set(id, known.add(along));
        waiting.push({ labels, way: along });
      }
  }
  return found;
}

interface AffinityDependencies {
  readonly id: string;
  /** The kinds of terms that select any of these labels. */
  kindsTo(labels: readonly StringMap[]): readonly AffinityKind[];
}

function termsOf({ affinity = [], antiAffinity = [] }: Policy): AffinityDependencies {
  const required = (terms: readonly WorkloadAffinity[]) =>
    terms.filter((term) => term.required === true).map(({ workloadSelector }) => workloadSelector);
  const [near, apart] = [required(affinity), required(antiAffinity)];
  const selects = (selectors: typeof near, labels: readonly StringMap[]) =>
    selectors.map(selectorOf).some((selector) => labels.some((one) => selector.matches(one)));
  return {
    id: JSON.stringify([near, apart]),
    kindsTo: (labels) => [
      ...(selects(near, labels) ? (["affinity"] as const) : []),
      ...(selects(apart, labels) ? (["antiAffinity"] as const) : []),
    ],
  };
}
