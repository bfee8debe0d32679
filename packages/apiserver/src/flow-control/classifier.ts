/**
 * Finds the FlowSchema of a request. The schemas that can match a user are computed once per user:
 * the user objects are reused from request to request.
 */
import { copyString } from "../request/copy-string.ts";
import type { RequestScope, ResourceScope } from "../request/request-scope.ts";
import {
  anonymousUser,
  clusterNameKey,
  scopesKey,
  type UserInfo,
  wellKnownGroup,
} from "../request/user.ts";
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

  /** Undefined for users whom no schema matches; the catch-all matches every user. */
  find(user: UserInfo, scope: RequestScope): FlowSchema | undefined {
    let candidates = this.#ofUsers.get(user);
    if (candidates === undefined) {
      candidates = this.#candidatesOf(user);
      this.#ofUsers.set(user, candidates);
    }
    for (const { schema, rules } of candidates)
      for (const { resourceRules, nonResourceRules } of rules)
        if (scope.kind === "path") {
          for (const rule of nonResourceRules) if (matchesPath(rule, scope)) return schema;
        } else {
          for (const rule of resourceRules) if (matchesResource(rule, scope)) return schema;
        }
    return undefined;
  }

  #candidatesOf(given: UserInfo): Candidate[] {
    const user = isNamedByTenant(given) ? withoutNames(given) : given;
    return this.#schemas.flatMap((schema) => {
      const rules = schema.config.rules.filter(({ subjects }) =>
        subjects.some((subject) => matchesUser(subject, user)),
      );
      return rules.length === 0 ? [] : [{ schema, rules }];
    });
  }
}

type Named = Pick<UserInfo, "username" | "groups">;

interface Candidate {
  readonly schema: FlowSchema;
  readonly rules: readonly FlowRule[];
}

/**
 * Whether a logical cluster has named the user, by impersonation or by its own certificates,
 * service accounts or issuers, so that the name is valid in this cluster only.
 */
function isNamedByTenant({ extra }: UserInfo): boolean {
  return extra?.[scopesKey] !== undefined || extra?.[clusterNameKey] !== undefined;
}

/**
 * The names that the operator's schemas may match. Names that a tenant gives its users do not
 * count: a tenant that called a user `system:nodes` would otherwise raise its own priority.
 */
function withoutNames({ username, groups }: UserInfo): Named {
  return {
    username: username.startsWith("system:serviceaccount:") ? username : "",
    groups: groups.filter(
      (group) =>
        group === wellKnownGroup.authenticated ||
        group === wellKnownGroup.unauthenticated ||
        /^system:serviceaccounts(?::|$)/.test(group),
    ),
  };
}

function matchesUser({ kind, name, namespace }: FlowSubject, { username, groups }: Named) {
  if (kind === "User") return name === "*" || name === username;
  if (kind === "Group") return name === "*" || groups.includes(name);
  const prefix = `system:serviceaccount:${namespace}:`;
  return name === "*" ? username.startsWith(prefix) : username === prefix + name;
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

// The tenant key of a request: its logical cluster, once the cluster is known to exist.
//
// Clients can invent names of clusters. All requests of one user to clusters that are not known to
// exist therefore share one tenant key, and so do all requests of unauthenticated clients. A
// request that is authorized, or that finds or stores an object, proves that its cluster exists.

/**
 * The number of clusters that are known to exist; beyond it, the oldest is forgotten until a
 * request proves it again.
 */
export const shownClustersMax = 20_000;

export class Shares {
  readonly #shown = new Set<string>();

  shareOf(user: UserInfo, scope: RequestScope): string {
    if (user === anonymousUser) return "";
    const { cluster } = scope;
    if (this.#shown.has(cluster)) return cluster;
    // Names of clusters contain no blanks.
    return `${user.extra?.[clusterNameKey]?.[0] ?? ""} ${user.username}`;
  }

  show(cluster: string): void {
    if (this.#shown.has(cluster)) return;
    if (this.#shown.size >= shownClustersMax) {
      const [first] = this.#shown;
      this.#shown.delete(first as string);
    }
    this.#shown.add(copyString(cluster));
  }

  /** Forgets a deleted cluster. */
  forget(cluster: string): void {
    this.#shown.delete(cluster);
  }

  get size(): number {
    return this.#shown.size;
  }
}
