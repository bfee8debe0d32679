/**
 * SubjectIndex: the roles of each subject: a decision costs the bindings of its user and not those
 * of other users.
 *
 * Bindings that grant the same role to the same subject are evaluated once, however many there are.
 */
import { type Resumable, YieldCounter } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";
import type { Decision } from "../authorizer.ts";
import type { RuleSet } from "./rule-set.ts";

export interface RoleRef {
  readonly kind: "Role" | "ClusterRole";
  readonly name: string;
}

/** A RoleBinding, or a ClusterRoleBinding when its namespace is empty. */
export interface Binding {
  readonly namespace: string;
  readonly name: string;
  readonly roleRef: RoleRef;
  readonly subjects: readonly Subject[];
}

export interface Subject {
  readonly kind: "User" | "Group" | "ServiceAccount";
  readonly name: string;
  /** The namespace of a service account. */
  readonly namespace: string;
}

/** The source of the rules of roles. */
export interface RoleSource {
  /** Changes with every change of the policy. */
  readonly version: number;
  /** Undefined when there is no role of that name. */
  rulesOf(roleRef: RoleRef, namespace: string): readonly RuleSet[] | undefined;
}

/** The grant of a binding to one subject. */
export class Grant {
  readonly binding: Binding;
  readonly subject: Subject;
  #decision: Decision | undefined;
  #rules: readonly RuleSet[] | undefined;
  #rulesVersion = -1;

  constructor(binding: Binding, subject: Subject) {
    this.binding = binding;
    this.subject = subject;
  }

  /** The rules of the role; looked up once between two changes of its policy. */
  rulesIn(policy: RoleSource): readonly RuleSet[] | undefined {
    if (this.#rulesVersion !== policy.version) {
      this.#rules = policy.rulesOf(this.binding.roleRef, this.binding.namespace);
      this.#rulesVersion = policy.version;
    }
    return this.#rules;
  }

  /** The decision for a request that this grant permits. */
  get decision(): Decision {
    this.#decision ??= { allowed: true, reason: `RBAC: allowed by ${describe(this)}` };
    return this.#decision;
  }
}

export class SubjectIndex {
  /**
   * By name, then by role: equal grants are adjacent. Names as users have them, so that no decision
   * builds a string.
   */
  readonly #users: Grants = new Map();
  readonly #groups: Grants = new Map();

  add(binding: Binding): void {
    const role = roleKey(binding.roleRef);
    for (const subject of binding.subjects) {
      const among = this.#among(subject);
      const name = nameOf(subject);
      let roles = among.get(name);
      if (roles === undefined) {
        roles = { byRole: new Map(), firsts: undefined };
        among.set(name, roles);
      }
      const grants = roles.byRole.get(role);
      if (grants !== undefined) grants.push(new Grant(binding, subject));
      else {
        roles.byRole.set(role, [new Grant(binding, subject)]);
        roles.firsts = undefined;
      }
    }
  }

  remove(binding: Binding): void {
    const role = roleKey(binding.roleRef);
    for (const subject of binding.subjects) {
      const among = this.#among(subject);
      const name = nameOf(subject);
      const roles = among.get(name);
      const grants = roles?.byRole.get(role);
      if (roles === undefined || grants === undefined) continue;
      const kept = grants.filter((grant) => grant.binding !== binding);
      if (kept.length > 0) roles.byRole.set(role, kept);
      else roles.byRole.delete(role);
      roles.firsts = undefined;
      if (roles.byRole.size === 0) among.delete(name);
    }
  }

  get isEmpty(): boolean {
    return this.#users.size === 0 && this.#groups.size === 0;
  }

  /** One grant for each role that bindings grant to the user of that name. */
  ofUser(name: string): readonly Grant[] {
    return this.#users.size === 0 ? noGrants : firstsOf(this.#users.get(name));
  }

  /** One grant for each role that bindings grant to the group of that name. */
  ofGroup(name: string): readonly Grant[] {
    return this.#groups.size === 0 ? noGrants : firstsOf(this.#groups.get(name));
  }

  #among({ kind }: Subject): Grants {
    return kind === "Group" ? this.#groups : this.#users;
  }
}

type Grants = Map<string, RolesOfSubject>;

interface RolesOfSubject {
  readonly byRole: Map<string, Grant[]>;
  /**
   * One grant for each role, in the same order; built on demand, because iterating a list is faster
   * than a map.
   */
  firsts: readonly Grant[] | undefined;
}

const noGrants: readonly Grant[] = [];

function firstsOf(roles: RolesOfSubject | undefined): readonly Grant[] {
  if (roles === undefined) return noGrants;
  roles.firsts ??= [...roles.byRole.values()].map((grants) => grants[0] as Grant);
  return roles.firsts;
}

/** Yields to the event loop: a binding may have thousands of subjects. */
export function* readBinding(
  namespace: string,
  name: string,
  object: JsonObject,
): Resumable<Binding> {
  const roleRef = object["roleRef"] as JsonObject | undefined;
  const found = new Map<string, Subject>();
  const pace = new YieldCounter(subjectsPerPiece);
  for (const item of (object["subjects"] ?? []) as readonly JsonValue[]) {
    const subject = readSubject(item as JsonObject, namespace);
    if (subject !== undefined) found.set(subjectKey(subject), subject);
    if (pace.isTime()) yield;
  }
  return {
    namespace,
    name,
    roleRef: {
      kind: roleRef?.["kind"] === "Role" ? "Role" : "ClusterRole",
      name: String(roleRef?.["name"] ?? ""),
    },
    subjects: [...found.values()],
  };
}

const subjectsPerPiece = 1000;

/** Equal keys for equal subjects. */
function subjectKey(subject: Subject): string {
  return `${subject.kind === "Group" ? "Group" : "User"}:${nameOf(subject)}`;
}

/** A service account without a namespace is in the namespace of the binding. */
function readSubject(subject: JsonObject, bindingNamespace: string): Subject | undefined {
  const name = String(subject["name"] ?? "");
  const namespace = String(subject["namespace"] ?? "");
  switch (subject["kind"]) {
    case "User":
    case "Group":
      return { kind: subject["kind"], name, namespace: "" };
    case "ServiceAccount": {
      const within = namespace === "" ? bindingNamespace : namespace;
      return within === "" ? undefined : { kind: "ServiceAccount", name, namespace: within };
    }
    default:
      return undefined;
  }
}

export function serviceAccountUsername(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** The name as users and their groups contain it. */
function nameOf({ kind, name, namespace }: Subject): string {
  return kind === "ServiceAccount" ? serviceAccountUsername(namespace, name) : name;
}

function roleKey({ kind, name }: RoleRef): string {
  return kind === "Role" ? `/${name}` : name;
}

function describe({ binding, subject }: Grant): string {
  const { namespace, name, roleRef } = binding;
  const what =
    namespace === ""
      ? `ClusterRoleBinding ${quote(name)}`
      : `RoleBinding ${quote(`${name}/${namespace}`)}`;
  const who =
    subject.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace}` : subject.name;
  return `${what} of ${roleRef.kind} ${quote(roleRef.name)} to ${subject.kind} ${quote(who)}`;
}
