/**
 * Which schema a request falls under. The schemas that a user can meet at all are found once per user: users are the same objects from
 * request to request.
 */
import type { RequestScope, ResourceScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";
import type { FlowRule, FlowSubject, PathRule, ResourceRule } from "./flow-config.ts";
import type { FlowSchema } from "./flow-schema.ts";

export class Classifier {
  readonly #schemas: readonly FlowSchema[];
  readonly #ofUsers = new WeakMap<UserInfo, readonly Candidate[]>();

  constructor(schemas: readonly FlowSchema[]) {
    this.#schemas = [...schemas].sort(
      (a, b) =>
        a.config.precedence - b.config.precedence || (a.config.name < b.config.name ? -1 : 1),
    );
  }

  /** Undefined for those whom no schema knows; the catch-all knows everybody. */
  find(user: UserInfo, scope: RequestScope): FlowSchema | undefined {
    let candidates = this.#ofUsers.get(user);
    if (candidates === undefined) {
      candidates = this.#candidatesOf(user);
      this.#ofUsers.set(user, candidates);
    }
    for (const { schema, rules } of candidates)
      for (const rule of rules) if (matchesScope(rule, scope)) return schema;
    return undefined;
  }

  #candidatesOf(user: UserInfo): Candidate[] {
    return this.#schemas.flatMap((schema) => {
      const rules = schema.config.rules.filter(({ subjects }) =>
        subjects.some((subject) => matchesUser(subject, user)),
      );
      return rules.length === 0 ? [] : [{ schema, rules }];
    });
  }
}

interface Candidate {
  readonly schema: FlowSchema;
  readonly rules: readonly FlowRule[];
}

function matchesUser({ kind, name, namespace }: FlowSubject, { username, groups }: UserInfo) {
  if (kind === "User") return name === "*" || name === username;
  if (kind === "Group") return name === "*" || groups.includes(name);
  const prefix = `system:serviceaccount:${namespace}:`;
  return name === "*" ? username.startsWith(prefix) : username === prefix + name;
}

function matchesScope({ resourceRules, nonResourceRules }: FlowRule, scope: RequestScope): boolean {
  if (scope.kind === "path") return nonResourceRules.some((rule) => matchesPath(rule, scope));
  return resourceRules.some((rule) => matchesResource(rule, scope));
}

function matchesPath({ verbs, paths }: PathRule, { verb, path }: RequestScope): boolean {
  return (
    has(verbs, verb) &&
    paths.some((each) =>
      each.endsWith("*") ? path.startsWith(each.slice(0, -1)) : each === path || each === "*",
    )
  );
}

function matchesResource(rule: ResourceRule, scope: ResourceScope): boolean {
  const { verbs, groups, resources, namespaces, isClusterScope } = rule;
  if (!has(verbs, scope.verb) || !has(groups, scope.group)) return false;
  const { resource, subresource, namespace } = scope;
  const name = subresource === "" ? resource : `${resource}/${subresource}`;
  if (!has(resources, name)) return false;
  return namespace === "" ? isClusterScope : has(namespaces, namespace);
}

function has(list: readonly string[], value: string): boolean {
  return list[0] === "*" || list.includes(value);
}
