/**
 * Rules in the messages of denials, formatted as in Kubernetes: `{APIGroups:[""],
 * Resources:["pods"], Verbs:["get"]}`.
 */
import { quote } from "@kcp-ts/machinery/status";
import type { PolicyRule } from "./policy-rule.ts";

/** The number of rules in a message; as many may be missing as were compared. */
export const rulesShownMax = 100;

/** One line each, in order; verbs on the same resource are combined. */
export function describeRules(rules: readonly PolicyRule[]): string {
  const lines = [...new Set(compact(rules).map(describeRule))].sort();
  const shown = lines.slice(0, rulesShownMax);
  const rest = lines.length - shown.length;
  return [...shown, ...(rest > 0 ? [`... and ${rest} more`] : [])].join("\n");
}

/** A list as Go's `%q` prints it. */
export function quoteAll(values: readonly string[]): string {
  return `[${values.map(quote).join(" ")}]`;
}

function describeRule(rule: PolicyRule): string {
  const parts: readonly (readonly [string, readonly string[]])[] = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ];
  const texts = parts
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => `${name}:${quoteAll(values)}`);
  return `{${texts.join(", ")}}`;
}

function compact(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const found = new Map<string, PolicyRule>();
  const others: PolicyRule[] = [];
  for (const rule of rules) {
    const { apiGroups, resources, resourceNames, nonResourceURLs } = rule;
    const isSimple =
      apiGroups.length === 1 &&
      resources.length === 1 &&
      resourceNames.length <= 1 &&
      nonResourceURLs.length === 0;
    if (!isSimple) {
      others.push(rule);
      continue;
    }
    const key = JSON.stringify([apiGroups, resources, resourceNames]);
    const known = found.get(key);
    const verbs = known === undefined ? rule.verbs : [...known.verbs, ...rule.verbs];
    found.set(key, { ...rule, verbs });
  }
  return [...others, ...found.values()];
}
