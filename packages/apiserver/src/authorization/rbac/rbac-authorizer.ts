/**
 * RbacAuthorizer: role-based access control permits a request that a rule of a role permits, if a
 * binding grants the role to the user or one of its groups. No rule denies.
 *
 * The policy that all clusters share is evaluated first: it is in memory, so administrators and
 * discovery never wait. RBAC grants nothing in requests over all clusters or in the system's own
 * clusters. Operators extend the shared policy in `system:admin`.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { quote } from "@kcp-ts/machinery/status";
import type { Attributes, UserInfo } from "../../request/index.ts";
import type { Authorizer, Decision } from "../authorizer.ts";
import { decisionStep, recordDecision } from "../record-decision.ts";
import { bootstrapPolicy } from "./bootstrap-policy.ts";
import type { ClusterPolicy } from "./cluster-policy.ts";
import { effectiveUsers, userExtra } from "./effective-users.ts";
import type { PolicyRule, ResourceQuery } from "./policy-rule.ts";
import type { RuleSet } from "./rule-set.ts";
import type { Grant, RoleRef, SubjectIndex } from "./subject-index.ts";

/** The source of roles and bindings; wiring supplies it. */
export interface PolicySource {
  /**
   * The policy of a cluster if it is in memory; it includes every write that was acknowledged
   * before.
   */
  peek(cluster: ClusterName): ClusterPolicy | undefined;
  load(cluster: ClusterName): Promise<ClusterPolicy>;
}

/** All known permissions of a user in a cluster or namespace. */
export interface ResolvedRules {
  readonly rules: readonly PolicyRule[];
  /** Roles that bindings name and that do not exist. */
  readonly errors: readonly string[];
  /** There are more rules than the result contains. */
  readonly isIncomplete: boolean;
}

/** The rules of one user that are collected; a role is either included completely or not at all. */
export const resolvedRulesMax = 20_000;

/** The number of missing roles in the reason of a denial. */
export const missingRolesShownMax = 10;

export class RbacAuthorizer implements Authorizer {
  readonly #source: PolicySource;

  constructor(source: PolicySource) {
    this.#source = source;
  }

  authorize(attributes: Attributes): Decision | Promise<Decision> {
    const { cluster } = attributes;
    if (!isTenantCluster(cluster)) return refused;
    const users = effectiveUsers(attributes.user, cluster);
    const asked = attributes.isResourceRequest ? questionOf(attributes) : undefined;
    const shared = decide(bootstrapPolicy, users, attributes, asked);
    if (shared.allowed) return bootstrapped(attributes, shared);
    const operators = this.#source.peek(localAdminCluster);
    if (operators !== undefined) return this.#decideWith(operators, users, attributes, asked);
    return this.#source
      .load(localAdminCluster)
      .then((loaded) => this.#decideWith(loaded, users, attributes, asked));
  }

  /**
   * The operators' grants in all logical clusters take precedence over those of the requested
   * cluster.
   */
  #decideWith(
    operators: ClusterPolicy,
    users: readonly UserInfo[],
    attributes: Attributes,
    asked: ResourceQuery | undefined,
  ): Decision | Promise<Decision> {
    const cluster = attributes.cluster as ClusterName;
    const granted = operators.hasBindings
      ? decide(operators, users.filter(isGlobal), attributes, asked)
      : refused;
    const shared = bootstrapped(attributes, granted);
    if (shared.allowed) return shared;
    const policy = this.#source.peek(cluster);
    if (policy !== undefined) return decideHere(policy, operators, users, attributes, asked);
    return this.#source
      .load(cluster)
      .then((loaded) => decideHere(loaded, operators, users, attributes, asked));
  }

  /** The permissions of the user in a namespace, or cluster-wide when it is empty. */
  async rulesFor(user: UserInfo, cluster: ClusterName, namespace: string): Promise<ResolvedRules> {
    if (!isTenantCluster(cluster)) return { rules: [], errors: [], isIncomplete: false };
    const policy = this.#source.peek(cluster) ?? (await this.#source.load(cluster));
    const operators =
      this.#source.peek(localAdminCluster) ?? (await this.#source.load(localAdminCluster));
    const sets = new Set<RuleSet>();
    const errors = new Set<string>();
    const users = effectiveUsers(user, cluster);
    let left = resolvedRulesMax;
    for (const from of [bootstrapPolicy, operators, policy]) {
      const meant = from === operators ? users.filter(isGlobal) : users;
      for (const grant of grantsOf(from, meant, namespace)) {
        const rules = rulesOf(grant, from, operators);
        if (rules !== undefined) {
          for (const set of rules) {
            if (sets.has(set)) continue;
            left -= set.rules.length;
            if (left < 0) break;
            sets.add(set);
          }
        } else if (errors.size < missingRolesShownMax) errors.add(notFound(grant.binding.roleRef));
        if (left < 0) break;
      }
    }
    const rules = [...sets].flatMap((set) => set.rules);
    return { rules, errors: [...errors], isIncomplete: left < 0 };
  }

  /** The rules of a role; undefined when there is none of that name. */
  async roleRules(
    roleRef: RoleRef,
    cluster: ClusterName,
    namespace: string,
  ): Promise<readonly PolicyRule[] | undefined> {
    for (const where of [cluster, localAdminCluster]) {
      const policy = this.#source.peek(where) ?? (await this.#source.load(where));
      const found = policy.rulesOf(roleRef, namespace);
      if (found !== undefined) return found.flatMap(({ rules }) => rules);
    }
    return undefined;
  }
}

const refused: Decision = { allowed: false, reason: "" };

/** Whether the cluster is neither the wildcard nor one of the system's. */
function isTenantCluster(cluster: ClusterName | "*"): cluster is ClusterName {
  return cluster !== "*" && !cluster.startsWith("system:");
}

function questionOf({ verb, group, resource, subresource, name }: Attributes): ResourceQuery {
  return subresource === ""
    ? { verb, group, target: resource, anyTarget: "", name }
    : { verb, group, target: `${resource}/${subresource}`, anyTarget: `*/${subresource}`, name };
}

/**
 * Bindings in this cluster apply in every logical cluster, and bindings of all clusters may name
 * its roles; only members of system:masters write them.
 */
export const localAdminCluster = "system:admin" as ClusterName;

/**
 * A user that is restricted to some logical clusters has a name that these clusters chose:
 * operators' bindings do not apply to it.
 */
function isGlobal({ username, extra }: UserInfo): boolean {
  return (
    (extra === undefined || !Object.hasOwn(extra, userExtra.scopes)) &&
    !username.startsWith("system:serviceaccount:")
  );
}

function bootstrapped(attributes: Attributes, decision: Decision): Decision {
  if (attributes.recordDecision === undefined) return decision;
  const reason = `bootstrap policy: ${decision.reason}`;
  recordDecision(attributes, decisionStep.bootstrap, decision, reason);
  return decision;
}

function decideHere(
  policy: ClusterPolicy,
  operators: ClusterPolicy,
  users: readonly UserInfo[],
  attributes: Attributes,
  asked: ResourceQuery | undefined,
): Decision {
  const decision = decide(policy, users, attributes, asked, operators);
  if (attributes.recordDecision === undefined) return decision;
  const reason = `local cluster ${quote(attributes.cluster)} policy: ${decision.reason}`;
  recordDecision(attributes, decisionStep.local, decision, reason);
  return decision;
}

interface AuthorizationQuery {
  readonly policy: ClusterPolicy;
  readonly operators: ClusterPolicy | undefined;
  /** Undefined for a non-resource request. */
  readonly asked: ResourceQuery | undefined;
  readonly verb: string;
  readonly path: string;
  missing: Set<string> | undefined;
}

/** Runs for every request: loops, because callbacks would cost as much as the comparisons. */
function decide(
  policy: ClusterPolicy,
  users: readonly UserInfo[],
  { verb, path, namespace }: Attributes,
  asked: ResourceQuery | undefined,
  operators?: ClusterPolicy,
): Decision {
  const question: AuthorizationQuery = { policy, operators, asked, verb, path, missing: undefined };
  const inNamespace =
    asked === undefined || namespace === "" ? undefined : policy.subjectsIn(namespace);
  for (const user of users) {
    let grant = allowingAmong(question, policy.clusterSubjects, user);
    if (grant === undefined && inNamespace !== undefined)
      grant = allowingAmong(question, inNamespace, user);
    if (grant !== undefined) return grant.decision;
  }
  return question.missing === undefined
    ? refused
    : { allowed: false, reason: `RBAC: ${aggregateErrors([...question.missing])}` };
}

function allowingAmong(
  question: AuthorizationQuery,
  subjects: SubjectIndex,
  { username, groups }: UserInfo,
): Grant | undefined {
  const own = allowing(question, subjects.ofUser(username));
  if (own !== undefined) return own;
  for (const group of groups) {
    const found = allowing(question, subjects.ofGroup(group));
    if (found !== undefined) return found;
  }
  return undefined;
}

function allowing(question: AuthorizationQuery, grants: readonly Grant[]): Grant | undefined {
  const { policy, operators, asked, verb, path } = question;
  for (const grant of grants) {
    const rules = rulesOf(grant, policy, operators);
    if (rules === undefined) {
      question.missing ??= new Set();
      if (question.missing.size < missingRolesShownMax)
        question.missing.add(notFound(grant.binding.roleRef));
      continue;
    }
    for (const set of rules) {
      if (asked === undefined ? set.allowsPath(verb, path) : set.allowsResource(asked))
        return grant;
    }
  }
  return undefined;
}

/**
 * The rules of a grant; a role that the policy does not have is looked up in the operators' policy.
 */
function rulesOf(
  grant: Grant,
  policy: ClusterPolicy,
  operators: ClusterPolicy | undefined,
): readonly RuleSet[] | undefined {
  const { roleRef, namespace } = grant.binding;
  return grant.rulesIn(policy) ?? operators?.rulesOf(roleRef, namespace);
}

/** One grant for every role of each of the users, cluster-wide ones first. */
function* grantsOf(
  policy: ClusterPolicy,
  users: readonly UserInfo[],
  namespace: string,
): Generator<Grant> {
  const inNamespace = namespace === "" ? undefined : policy.subjectsIn(namespace);
  for (const { username, groups } of users) {
    for (const subjects of [policy.clusterSubjects, inNamespace]) {
      if (subjects === undefined) continue;
      yield* subjects.ofUser(username);
      for (const group of groups) yield* subjects.ofGroup(group);
    }
  }
}

function notFound({ kind, name }: RoleRef): string {
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io ${quote(name)} not found`;
}

/** Joins errors as Go does. */
export function aggregateErrors(errors: readonly string[]): string {
  return errors.length === 1 ? (errors[0] as string) : `[${errors.join(", ")}]`;
}
