/**
 * Which schema a request falls under. The schemas that a user can meet at all are found once per user: users are the same objects from
 * request to request.
 */
import { copyString } from "../request/own-text.ts";
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

/** Somebody whom a logical cluster calls so, by impersonation, its own certificates, accounts or issuers, and who is that in this cluster only. */
function isNamedByTenant({ extra }: UserInfo): boolean {
  return extra?.[scopesKey] !== undefined || extra?.[clusterNameKey] !== undefined;
}

/** What a tenant calls its users is not what the operator means by these names: who could be `system:nodes` at will would pass all others. */
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

// Whose share a request takes: its logical cluster's, once the cluster has been seen to exist.
//
// Names of clusters are the client's to invent. Whoever asks for clusters that nobody has shown to exist takes one share with all of them,
// their own; strangers take one all together. A cluster is shown by a request that somebody was let in with, or that found or stored
// something.

/** Beyond it the cluster that was shown first is forgotten first, until it is shown again. */
export const shownClustersMax = 20_000;

export class Shares {
  readonly #shown = new Set<string>();

  shareOf(user: UserInfo, scope: RequestScope): string {
    if (user === anonymousUser) return "";
    const { cluster } = scope;
    if (this.#shown.has(cluster)) return cluster;
    // No cluster's name has a blank in it.
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

  /** It is gone. */
  forget(cluster: string): void {
    this.#shown.delete(cluster);
  }

  get size(): number {
    return this.#shown.size;
  }
}
