/**
 * Groups of related workloads and claims: workloads that share a claim, and all claims that one of
 * them uses.
 */
export interface ClaimUser<Whole> {
  readonly workload: Whole;
  readonly claims: ReadonlySet<string>;
}

export interface ClaimGroup<Whole> {
  readonly workloads: readonly Whole[];
  readonly claims: ReadonlySet<string>;
}

export function claimGroupsOf<Whole>(
  users: readonly ClaimUser<Whole>[],
): readonly ClaimGroup<Whole>[] {
  let groups: { workloads: Whole[]; claims: Set<string> }[] = [];
  for (const { workload, claims } of users) {
    if (claims.size === 0) continue;
    const joined = { workloads: [workload], claims: new Set(claims) };
    const others = [];
    for (const group of groups) {
      if ([...group.claims].some((claim) => joined.claims.has(claim))) {
        joined.workloads.unshift(...group.workloads);
        for (const claim of group.claims) joined.claims.add(claim);
      } else others.push(group);
    }
    groups = [...others, joined];
  }
  return groups;
}
