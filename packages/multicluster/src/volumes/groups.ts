/** Workloads and claims that have to do with each other: those that share a claim, and the claims that one of them uses. */
export interface ClaimUser<Whole> {
  readonly whole: Whole;
  readonly claims: ReadonlySet<string>;
}

export interface ClaimGroup<Whole> {
  readonly wholes: readonly Whole[];
  readonly claims: ReadonlySet<string>;
}

export function claimGroupsOf<Whole>(
  users: readonly ClaimUser<Whole>[],
): readonly ClaimGroup<Whole>[] {
  let groups: { wholes: Whole[]; claims: Set<string> }[] = [];
  for (const { whole, claims } of users) {
    if (claims.size === 0) continue;
    const joined = { wholes: [whole], claims: new Set(claims) };
    const others = [];
    for (const group of groups) {
      if ([...group.claims].some((claim) => joined.claims.has(claim))) {
        joined.wholes.unshift(...group.wholes);
        for (const claim of group.claims) joined.claims.add(claim);
      } else others.push(group);
    }
    groups = [...others, joined];
  }
  return groups;
}
