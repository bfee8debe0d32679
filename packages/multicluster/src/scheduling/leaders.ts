/**
 * Whom a workload goes after that must be near others: those whose own place does not depend on it. Of workloads that must all be near each other, those that come later by
 * name go after the earlier ones. Who must keep away from it, or from somebody that goes after it, is not gone after at all: that would never end.
 *
 *     web ──near──▶ cache ──near──▶ db          web goes after cache, and cache after db
 *     a ──near──▶ b ──near──▶ a                 b goes after a
 *     web ──near──▶ cache ──apart──▶ web        nobody goes after anybody
 *
 * Workloads with the same policy depend on the same ones, so it is found out by policies, of which a namespace has few.
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

type AffinityKind = "near" | "apart";

/** Found out when it is first asked. */
export function affinityTargetsOf<Other extends AffinitySubject>(
  self: AffinitySubject,
  others: readonly Other[],
): (other: Other) => boolean {
  let dependents: Dependents | undefined;
  return (other) => {
    dependents ??= dependentsOf(self, others);
    const ways = dependents.get(termsOf(other.policy).id);
    if (ways === undefined) return true;
    return !ways.has("apart") && orderOf(other) < orderOf(self);
  };
}

function orderOf({ name, resource }: AffinitySubject): string {
  return `${name} ${resource}`;
}

/** By policy: by which ways those that have it depend on somebody, directly or through others. */
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
    { labels: [self.labels], way: "near" },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const [id, { terms, labels }] of members)
      for (const way of terms.waysTo(next.labels)) {
        const along: AffinityKind = way === "apart" ? "apart" : next.way;
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
  /** How they depend on any of these. */
  waysTo(labels: readonly StringMap[]): readonly AffinityKind[];
}

function termsOf({ affinity = [], antiAffinity = [] }: Policy): AffinityDependencies {
  const required = (terms: readonly WorkloadAffinity[]) =>
    terms.filter((term) => term.required === true).map(({ workloadSelector }) => workloadSelector);
  const [near, apart] = [required(affinity), required(antiAffinity)];
  const selects = (selectors: typeof near, labels: readonly StringMap[]) =>
    selectors.map(selectorOf).some((selector) => labels.some((one) => selector.matches(one)));
  return {
    id: JSON.stringify([near, apart]),
    waysTo: (labels) => [
      ...(selects(near, labels) ? (["near"] as const) : []),
      ...(selects(apart, labels) ? (["apart"] as const) : []),
    ],
  };
}
