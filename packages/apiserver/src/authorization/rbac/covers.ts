/**
 * Whether the rules that a user holds cover rules that the user grants: one held rule must permit
 * each verb on each resource of the granted rules.
 *
 * Expanded rules multiply, and tenants write them: the work is limited, and rules beyond the limit
 * count as not covered.
 */
import { contains, coversPath, listAllows, type PolicyRule } from "./policy-rule.ts";

/**
 * Comparisons of one expanded rule with one held rule; some tenths of a microsecond each. Ten items
 * of longer lists count as one.
 */
export const comparisonsMax = 200_000;

export type Coverage =
  | { readonly kind: "covered" }
  | { readonly kind: "missing"; readonly rules: readonly PolicyRule[] }
  | { readonly kind: "too-many" };

export function covers(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): Coverage {
  const missing: PolicyRule[] = [];
  const heldUrls = held.reduce((sum, { nonResourceURLs }) => sum + nonResourceURLs.length, 0);
  let left = comparisonsMax;
  for (const rule of wanted) {
    left -= costOf(rule, held.length, heldUrls);
    if (left < 0) return { kind: "too-many" };
    // One held rule covers most granted rules completely: these need not be expanded.
    if (held.some((each) => ruleCovers(each, rule))) continue;
    const ofPart =
      held.length + 1 + Math.ceil(rule.nonResourceURLs.length === 0 ? 0 : heldUrls / 10);
    for (const part of partsOf(rule)) {
      left -= ofPart;
      if (left < 0) return { kind: "too-many" };
      if (!held.some((each) => ruleCovers(each, part))) missing.push(part);
    }
  }
  return missing.length === 0 ? { kind: "covered" } : { kind: "missing", rules: missing };
}

/** The cost of comparing the complete rule. */
function costOf(rule: PolicyRule, heldRules: number, heldUrls: number): number {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs: urls } = rule;
  const items = verbs.length + apiGroups.length + resources.length + resourceNames.length;
  return heldRules + 1 + Math.ceil((heldRules * items + heldUrls * urls.length) / 10);
}

function* partsOf(rule: PolicyRule): Generator<PolicyRule> {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        const part = { ...nothing, verbs: [verb], apiGroups: [group], resources: [resource] };
        if (resourceNames.length === 0) yield part;
        for (const name of resourceNames) yield { ...part, resourceNames: [name] };
      }
    }
  }
  for (const url of nonResourceURLs)
    for (const verb of verbs) yield { ...nothing, verbs: [verb], nonResourceURLs: [url] };
}

const nothing: PolicyRule = {
  verbs: [],
  apiGroups: [],
  resources: [],
  resourceNames: [],
  nonResourceURLs: [],
};

function ruleCovers(held: PolicyRule, wanted: PolicyRule): boolean {
  return (
    coversAll(held.verbs, wanted.verbs) &&
    coversAll(held.apiGroups, wanted.apiGroups) &&
    wanted.resources.every((resource) => coversResource(held.resources, resource)) &&
    coversNames(held.resourceNames, wanted.resourceNames) &&
    wanted.nonResourceURLs.every((url) =>
      held.nonResourceURLs.some((heldUrl) => coversPath(heldUrl, url)),
    )
  );
}

function coversAll(held: readonly string[], wanted: readonly string[]): boolean {
  return contains(held, "*") || wanted.every((value) => contains(held, value));
}

function coversResource(held: readonly string[], resource: string): boolean {
  if (listAllows(held, resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && contains(held, `*${resource.slice(slash)}`);
}

/** An empty list of names covers every list; a list of names does not cover the empty one. */
function coversNames(held: readonly string[], wanted: readonly string[]): boolean {
  if (held.length === 0) return true;
  return wanted.length > 0 && wanted.every((name) => contains(held, name));
}
