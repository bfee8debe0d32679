/** The rules of webhooks and policies: the operations and resources that they match. */
import { isJsonObject, type JsonObject, type JsonValue, textsOf } from "@kcp-ts/machinery/json";
import type { Operation } from "../admission.ts";
import type { TargetKind } from "../sources.ts";

export interface Rule {
  readonly operations: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly versions: ReadonlySet<string>;
  readonly resources: readonly { readonly resource: string; readonly subresource: string }[];
  readonly scope: "Cluster" | "Namespaced" | "*";
  /** Undefined matches all names. */
  readonly names: ReadonlySet<string> | undefined;
}

/** The operation that a rule is matched against. */
export interface MatchedOperation {
  readonly operation: Operation;
  readonly subresource: string;
  readonly name: string;
  /** Whether the object is namespaced. */
  readonly isNamespaced: boolean;
}

export function readRules(value: JsonValue | undefined): readonly Rule[] {
  return (Array.isArray(value) ? (value as readonly JsonValue[]) : [])
    .filter(isJsonObject)
    .map(readRule);
}

function readRule(rule: JsonObject): Rule {
  const { scope = "*" } = rule;
  const names = textsOf(rule["resourceNames"]);
  return {
    operations: new Set(textsOf(rule["operations"])),
    groups: new Set(textsOf(rule["apiGroups"])),
    versions: new Set(textsOf(rule["apiVersions"])),
    resources: textsOf(rule["resources"]).map((text) => {
      const slash = text.indexOf("/");
      return slash < 0
        ? { resource: text, subresource: "" }
        : { resource: text.slice(0, slash), subresource: text.slice(slash + 1) };
    }),
    scope: scope === "Cluster" || scope === "Namespaced" ? scope : "*",
    names: names.length === 0 ? undefined : new Set(names),
  };
}

export function ruleMatches(rule: Rule, asked: MatchedOperation, target: TargetKind): boolean {
  return (
    isIn(rule.operations, asked.operation) &&
    isIn(rule.groups, target.group) &&
    isIn(rule.versions, target.version) &&
    isInScope(rule, asked) &&
    isResourceMatched(rule, target.resource, asked.subresource) &&
    (rule.names === undefined || rule.names.has(asked.name))
  );
}

/** Whether the rule would match if the resource were served under another group or version. */
export function ruleMatchesEquivalent(
  rule: Rule,
  asked: MatchedOperation,
  resource: string,
): boolean {
  return (
    isIn(rule.operations, asked.operation) &&
    isInScope(rule, asked) &&
    isResourceMatched(rule, resource, asked.subresource)
  );
}

function isIn(set: ReadonlySet<string>, value: string): boolean {
  return set.has(value) || set.has("*");
}

function isInScope({ scope }: Rule, { isNamespaced }: MatchedOperation): boolean {
  return scope === "*" || (scope === "Namespaced") === isNamespaced;
}

/** A rule without a subresource does not match subresources. */
function isResourceMatched({ resources }: Rule, resource: string, subresource: string): boolean {
  for (const meant of resources) {
    const isResource = meant.resource === "*" || meant.resource === resource;
    const isSubresource = meant.subresource === "*" || meant.subresource === subresource;
    if (isResource && isSubresource) return true;
  }
  return false;
}
