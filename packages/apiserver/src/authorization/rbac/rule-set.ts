/** RuleSet: the rules of one role, indexed so that a request finds the rules that can match it. */
import {
  allowsPath,
  allowsResource,
  type PolicyRule,
  type ResourceQuery,
  ruleObject,
} from "./policy-rule.ts";

/** Up to so many rules are iterated; more are indexed by resource. */
const walkedRulesMax = 16;

export class RuleSet {
  readonly rules: readonly PolicyRule[];
  /** Built on first use. */
  #byResource: ReadonlyMap<string, readonly PolicyRule[]> | undefined;
  #nonResourceRules: readonly PolicyRule[] | undefined;
  #texts: readonly string[] | undefined;
  /** Many roles, and most bootstrap roles of all users, only contain paths. */
  readonly #hasResources: boolean;

  constructor(rules: readonly PolicyRule[]) {
    this.rules = rules;
    this.#hasResources = rules.some(({ resources }) => resources.length > 0);
  }

  /** The JSON of each rule: encoded once, however many roles aggregate it. */
  get texts(): readonly string[] {
    this.#texts ??= this.rules.map((rule) => JSON.stringify(ruleObject(rule)));
    return this.#texts;
  }

  allowsResource(asked: ResourceQuery): boolean {
    if (!this.#hasResources) return false;
    if (this.rules.length <= walkedRulesMax) return anyAllows(this.rules, asked);
    this.#byResource ??= byResource(this.rules);
    return (
      anyAllows(this.#byResource.get(asked.target), asked) ||
      anyAllows(this.#byResource.get("*"), asked) ||
      (asked.anyTarget !== "" && anyAllows(this.#byResource.get(asked.anyTarget), asked))
    );
  }

  allowsPath(verb: string, path: string): boolean {
    this.#nonResourceRules ??= this.rules.filter(
      ({ nonResourceURLs }) => nonResourceURLs.length > 0,
    );
    for (const rule of this.#nonResourceRules) if (allowsPath(rule, verb, path)) return true;
    return false;
  }
}

function anyAllows(rules: readonly PolicyRule[] | undefined, asked: ResourceQuery): boolean {
  if (rules === undefined) return false;
  for (const rule of rules) if (allowsResource(rule, asked)) return true;
  return false;
}

function byResource(rules: readonly PolicyRule[]): ReadonlyMap<string, readonly PolicyRule[]> {
  const found = new Map<string, PolicyRule[]>();
  for (const rule of rules) {
    for (const resource of new Set(rule.resources)) {
      const others = found.get(resource);
      if (others === undefined) found.set(resource, [rule]);
      else others.push(rule);
    }
  }
  return found;
}
