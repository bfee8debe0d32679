/**
 * Role-based access control: allowed is what a rule of a role says that a binding gives to the user or one of its groups. There is no
 * rule that forbids.
 *
 * The policy that all clusters share is asked first: it is in memory, so administrators and discovery never wait. Nobody gets
 * anything here in all clusters at once or in the system's own. What operators add to that policy is in `system:admin`.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { quote } from "@kcp-ts/machinery/status";
import type { Attributes, UserInfo } from "../../request/index.ts";
import type { Authorizer, Decision } from "../authorizer.ts";
import { decisionStep, recordDecision } from "../noted.ts";
import { bootstrapPolicy } from "./bootstrap-policy.ts";
import type { ClusterPolicy } from "./cluster-policy.ts";
import { effectiveUsers, userExtra } from "./effective-users.ts";
import type { PolicyRule, ResourceQuery } from "./policy-rule.ts";
import type { RuleSet } from "./rule-set.ts";
import type { Grant, RoleRef, SubjectIndex } from "./subject-index.ts";

/** Where roles and bindings come from; wiring supplies it. */
export interface PolicySource {
  /** The cluster's policy when it is in memory; it holds every write that was acknowledged before. */
  peek(cluster: ClusterName): ClusterPolicy | undefined;
  load(cluster: ClusterName): Promise<ClusterPolicy>;
}

/** Everything that a user may do somewhere, as far as it is known. */
export interface ResolvedRules {
  readonly rules: readonly PolicyRule[];
  /** Roles that bindings name and that do not exist. */
  readonly errors: readonly string[];
  /** There are more rules than are told. */
  readonly isIncomplete: boolean;
}

/** Rules of one user that are gone through at a time; a role as a whole counts or does not. */
export const resolvedRulesMax = 20_000;

/** Missing roles that a refusal tells of. */
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

  /** What operators grant in all logical clusters at once goes before what the asked one says. */
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

  /** What the user may do in a namespace, or cluster-wide when it is empty. */
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

  /** What a role allows; undefined when there is none of that name. */
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

/** Not all clusters at once, and not one of the system's. */
function isTenantCluster(cluster: ClusterName | "*"): cluster is ClusterName {
  return cluster !== "*" && !cluster.startsWith("system:");
}

function questionOf({ verb, group, resource, subresource, name }: Attributes): ResourceQuery {
  return subresource === ""
    ? { verb, group, target: resource, anyTarget: "", name }
    : { verb, group, target: `${resource}/${subresource}`, anyTarget: `*/${subresource}`, name };
}

/** Bindings here hold in every logical cluster, and bindings everywhere may name its roles; only members of system:masters write them. */
export const localAdminCluster = "system:admin" as ClusterName;

/** Whoever is somebody in some logical clusters only was named by these: they are nobody whom an operator means. */
function isGlobal({ username, extra }: UserInfo): boolean {
  return (
    (extra === undefined || !Object.hasOwn(extra, userExtra.scopes)) &&
    !username.startsWith("system:serviceaccount:")
  );
}

function bootstrapped(attributes: Attributes, decision: Decision): Decision {
  if (attributes.note === undefined) return decision;
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
  if (attributes.note === undefined) return decision;
  const reason = `local cluster ${quote(attributes.cluster)} policy: ${decision.reason}`;
  recordDecision(attributes, decisionStep.local, decision, reason);
  return decision;
}

interface AuthorizationQuery {
  readonly policy: ClusterPolicy;
  readonly operators: ClusterPolicy | undefined;
  /** Undefined when a path is asked for. */
  readonly asked: ResourceQuery | undefined;
  readonly verb: string;
  readonly path: string;
  missing: Set<string> | undefined;
}

/** Stands before every request: loops, because callbacks would cost as much as what they look at. */
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

/** A role that the policy does not have, as operators have it. */
function rulesOf(
  grant: Grant,
  policy: ClusterPolicy,
  operators: ClusterPolicy | undefined,
): readonly RuleSet[] | undefined {
  const { roleRef, namespace } = grant.binding;
  return grant.rulesIn(policy) ?? operators?.rulesOf(roleRef, namespace);
}

/** One for every role that one of the users has here, cluster-wide ones first. */
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

/** As Go joins errors. */
export function aggregateErrors(errors: readonly string[]): string {
  return errors.length === 1 ? (errors[0] as string) : `[${errors.join(", ")}]`;
}
