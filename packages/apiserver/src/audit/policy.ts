/**
 * An audit policy (audit.k8s.io/v1): the first rule that matches a request determines its level.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { RequestScope, ResourceScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";

export const auditLevels = ["None", "Metadata", "Request", "RequestResponse"] as const;
export type AuditLevel = (typeof auditLevels)[number];

export const auditStages = [
  "RequestReceived",
  "ResponseStarted",
  "ResponseComplete",
  "Panic",
] as const;
export type AuditStage = (typeof auditStages)[number];

export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
}

export interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly namespaces: readonly string[];
  readonly resources: readonly AuditedResources[];
  readonly nonResourceUrls: readonly string[];
  /** The stages of the rule and those of the policy. */
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

interface AuditedResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** An error in a policy, with a message for its author. */
export class AuditPolicyError extends Error {
  override readonly name = "AuditPolicyError";
}

/** Undefined: the request is not recorded. */
export function ruleFor(
  { rules }: AuditPolicy,
  user: UserInfo,
  scope: RequestScope,
): AuditRule | undefined {
  const found = rules.find((rule) => matches(rule, user, scope));
  return found === undefined || found.level === "None" ? undefined : found;
}

export function parseAuditPolicy(object: JsonValue): AuditPolicy {
  if (!isJsonObject(object)) throw new AuditPolicyError("the policy is no object");
  const { apiVersion, kind } = object;
  if (apiVersion !== "audit.k8s.io/v1" || kind !== "Policy")
    throw new AuditPolicyError(
      `wanted is kind Policy of audit.k8s.io/v1, not ${String(kind)} of ${String(apiVersion)}`,
    );
  const rules = listIn(object, "rules", "");
  if (rules.length === 0) throw new AuditPolicyError("rules: at least one is needed");
  const omitStages = stagesIn(object, "");
  const omitManagedFields = object["omitManagedFields"] === true;
  return {
    rules: rules.map((rule, i) => parseRule(rule, `rules[${i}]`, omitStages, omitManagedFields)),
  };
}

function parseRule(
  rule: JsonValue,
  at: string,
  omitStages: readonly AuditStage[],
  omitManagedFields: boolean,
): AuditRule {
  if (!isJsonObject(rule)) throw new AuditPolicyError(`${at}: must be an object`);
  const level = auditLevels.find((each) => each === rule["level"]);
  if (level === undefined)
    throw new AuditPolicyError(`${at}.level: must be one of ${auditLevels.join(", ")}`);
  const own = rule["omitManagedFields"];
  const parsed = {
    level,
    users: textsIn(rule, "users", at),
    userGroups: textsIn(rule, "userGroups", at),
    verbs: textsIn(rule, "verbs", at),
    namespaces: textsIn(rule, "namespaces", at),
    resources: listIn(rule, "resources", at).map((each, i) =>
      parseResources(each, `${at}.resources[${i}]`),
    ),
    nonResourceUrls: textsIn(rule, "nonResourceURLs", at),
    omitStages: new Set([...omitStages, ...stagesIn(rule, at)]),
    omitManagedFields: typeof own === "boolean" ? own : omitManagedFields,
  };
  if (parsed.nonResourceUrls.length > 0 && parsed.resources.length + parsed.namespaces.length > 0)
    throw new AuditPolicyError(
      `${at}: rules cannot apply to both regular resources and non-resource URLs`,
    );
  for (const url of parsed.nonResourceUrls)
    if (url !== "*" && (!url.startsWith("/") || url.slice(0, -1).includes("*")))
      throw new AuditPolicyError(
        `${at}.nonResourceURLs: ${JSON.stringify(url)} must begin with / and may have one * at its end`,
      );
  return parsed;
}

function parseResources(value: JsonValue, at: string): AuditedResources {
  if (!isJsonObject(value)) throw new AuditPolicyError(`${at}: must be an object`);
  const resources = textsIn(value, "resources", at);
  const resourceNames = textsIn(value, "resourceNames", at);
  if (resourceNames.length > 0 && resources.length === 0)
    throw new AuditPolicyError(
      `${at}.resourceNames: using resourceNames requires at least one resource`,
    );
  return { group: String(value["group"] ?? ""), resources, resourceNames };
}

function stagesIn(object: JsonObject, at: string): AuditStage[] {
  return textsIn(object, "omitStages", at).map((text) => {
    const stage = auditStages.find((each) => each === text);
    if (stage !== undefined) return stage;
    throw new AuditPolicyError(
      `${path(at, "omitStages")}: ${JSON.stringify(text)} is none of ${auditStages.join(", ")}`,
    );
  });
}

function listIn(object: JsonObject, member: string, at: string): readonly JsonValue[] {
  const value = object[member] ?? [];
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw new AuditPolicyError(`${path(at, member)}: must be a list`);
}

function textsIn(object: JsonObject, member: string, at: string): string[] {
  return listIn(object, member, at).map((value) => {
    if (typeof value === "string") return value;
    throw new AuditPolicyError(`${path(at, member)}: must be a list of strings`);
  });
}

function path(at: string, member: string): string {
  return at === "" ? member : `${at}.${member}`;
}

function matches(rule: AuditRule, { username, groups }: UserInfo, scope: RequestScope): boolean {
  if (rule.users.length > 0 && !rule.users.includes(username)) return false;
  if (rule.userGroups.length > 0 && !rule.userGroups.some((each) => groups.includes(each)))
    return false;
  if (rule.verbs.length > 0 && !rule.verbs.includes(scope.verb)) return false;
  if (rule.namespaces.length > 0 || rule.resources.length > 0)
    return scope.kind === "resource" && matchesResource(rule, scope);
  if (rule.nonResourceUrls.length === 0) return true;
  return scope.kind === "path" && rule.nonResourceUrls.some((url) => matchesUrl(url, scope.path));
}

function matchesResource({ namespaces, resources }: AuditRule, scope: ResourceScope): boolean {
  if (namespaces.length > 0 && !namespaces.includes(scope.namespace)) return false;
  if (resources.length === 0) return true;
  return resources.some(
    (each) =>
      each.group === scope.group &&
      (each.resources.length === 0 || each.resources.some((name) => matchesName(name, scope))) &&
      (each.resourceNames.length === 0 || each.resourceNames.includes(scope.name)),
  );
}

/** `pods`, `pods/log`, `pods/*`, `*` before `/scale`, `*`. */
function matchesName(wanted: string, { resource, subresource }: ResourceScope): boolean {
  if (wanted === "*") return true;
  if (wanted === (subresource === "" ? resource : `${resource}/${subresource}`)) return true;
  if (subresource === "") return false;
  return wanted === `${resource}/*` || wanted === `*/${subresource}`;
}

function matchesUrl(url: string, asked: string): boolean {
  return url.endsWith("*") ? asked.startsWith(url.slice(0, -1)) : url === asked;
}
