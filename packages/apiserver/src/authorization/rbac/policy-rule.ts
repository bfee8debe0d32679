/**
 * PolicyRule: one rule of a role, its decoding from a stored object, and its match against a
 * request.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Empty matches every name. */
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** A resource request in the terms of rules. */
export interface ResourceQuery {
  readonly verb: string;
  readonly group: string;
  /** `pods`, or `pods/log`. */
  readonly target: string;
  /**
   * An asterisk and `/log`, as rules name a subresource of all resources; empty without a
   * subresource.
   */
  readonly anyTarget: string;
  readonly name: string;
}

/** Decodes stored rules; a value that is not a list of strings counts as empty. */
export function readRules(rules: JsonValue | undefined): readonly PolicyRule[] {
  if (!Array.isArray(rules)) return [];
  return (rules as readonly JsonValue[]).filter(isJsonObject).map(readRule);
}

function readRule(rule: JsonObject): PolicyRule {
  return {
    verbs: texts(rule["verbs"]),
    apiGroups: texts(rule["apiGroups"]),
    resources: texts(rule["resources"]),
    resourceNames: texts(rule["resourceNames"]),
    nonResourceURLs: texts(rule["nonResourceURLs"]),
  };
}

const none: readonly string[] = Object.freeze([]);

function texts(value: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) return none;
  return (value as readonly JsonValue[]).filter((item) => typeof item === "string");
}

/** The rule as it is stored and served: without empty fields. */
export function ruleObject(rule: PolicyRule): JsonObject {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
  return {
    verbs,
    ...(apiGroups.length === 0 ? {} : { apiGroups }),
    ...(resources.length === 0 ? {} : { resources }),
    ...(resourceNames.length === 0 ? {} : { resourceNames }),
    ...(nonResourceURLs.length === 0 ? {} : { nonResourceURLs }),
  };
}

export function allowsResource(rule: PolicyRule, asked: ResourceQuery): boolean {
  return (
    listAllows(rule.verbs, asked.verb) &&
    listAllows(rule.apiGroups, asked.group) &&
    (listAllows(rule.resources, asked.target) ||
      (asked.anyTarget !== "" && contains(rule.resources, asked.anyTarget))) &&
    (rule.resourceNames.length === 0 || contains(rule.resourceNames, asked.name))
  );
}

export function allowsPath(rule: PolicyRule, verb: string, path: string): boolean {
  return listAllows(rule.verbs, verb) && rule.nonResourceURLs.some((url) => coversPath(url, path));
}

/** Equal, or a prefix that ends in `*`. */
export function coversPath(url: string, path: string): boolean {
  if (url === path) return true;
  if (!url.endsWith("*")) return false;
  let end = url.length;
  while (end > 0 && url.charCodeAt(end - 1) === star) end--;
  return path.startsWith(url.slice(0, end));
}

const star = 0x2a;

/** Whether the list contains the value, or `*`. */
export function listAllows(list: readonly string[], value: string): boolean {
  return contains(list, value) || contains(list, "*");
}

/**
 * Longer lists are looked up in a set instead of iterated: tenants can make them as long as a body
 * may be.
 */
const walkedLengthMax = 16;
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

export function contains(list: readonly string[], value: string): boolean {
  if (list.length <= walkedLengthMax) return list.includes(value);
  let set = sets.get(list);
  if (set === undefined) {
    set = new Set(list);
    sets.set(list, set);
  }
  return set.has(value);
}
