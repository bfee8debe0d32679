/**
 * ClusterPolicy: the roles and bindings of one logical cluster, as decisions need them; updated
 * object by object.
 *
 * A cluster has a base that all clusters share: a ClusterRole that the cluster itself does not have
 * is looked up in the base, and aggregation includes the base's roles. The base's bindings do not
 * count here: they are evaluated separately.
 */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { AggregationSelectors } from "./aggregation-selectors.ts";
import { type PolicyRule, readRules, ruleObject } from "./policy-rule.ts";
import { RuleSet } from "./rule-set.ts";
import {
  type Binding,
  type RoleRef,
  type RoleSource,
  readBinding,
  SubjectIndex,
} from "./subject-index.ts";

export type PolicyResource = "roles" | "clusterroles" | "rolebindings" | "clusterrolebindings";

export interface PolicyKey {
  readonly resource: PolicyResource;
  /** Empty for the two cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

interface RoleRecord {
  readonly name: string;
  readonly rules: RuleSet;
  /** The role's own rules as a list of one: the permissions of the role unless it is aggregated. */
  readonly own: readonly RuleSet[];
  readonly labels: Readonly<Record<string, string>>;
  /** Set when the rules are aggregated from roles with such labels. */
  readonly selectors: AggregationSelectors | undefined;
}

/**
 * Label requirements that are compared between two changes of ClusterRoles, so that aggregation
 * takes some ten milliseconds at most. Aggregated roles beyond this limit permit nothing.
 */
export const aggregationComparisonsMax = 300_000;

/** The JSON of aggregated rules that is written into a role; a role with more is not written. */
export const aggregatedBytesMax = 1 << 20;

/**
 * The limit of all roles of a cluster together, by name: roles beyond it are not written. A change
 * of one role that many aggregate would otherwise write all of them.
 */
export const aggregatedBytesTotalMax = 4 << 20;

/** The remaining comparisons; below zero, nothing more is found. */
interface ComparisonBudget {
  left: number;
}

const noRuleSets: readonly RuleSet[] = [];

interface Namespace {
  readonly roles: Map<string, RoleRecord>;
  readonly bindings: Map<string, Binding>;
  readonly subjects: SubjectIndex;
}

export class ClusterPolicy implements RoleSource {
  readonly #base: ClusterPolicy | undefined;
  readonly #clusterRoles = new Map<string, RoleRecord>();
  readonly #clusterBindings = new Map<string, Binding>();
  readonly #clusterSubjects = new SubjectIndex();
  readonly #namespaces = new Map<string, Namespace>();
  /** The rules of aggregated roles, until some ClusterRole changes. */
  readonly #aggregated = new Map<string, readonly RuleSet[]>();
  #sorted: readonly RoleRecord[] | undefined;
  #version = 0;

  constructor(base?: ClusterPolicy) {
    this.#base = base;
  }

  /** Changes with every change of the policy, or of its base. */
  get version(): number {
    return this.#base === undefined ? this.#version : this.#version + this.#base.version;
  }

  /** A policy without bindings permits nothing. */
  get hasBindings(): boolean {
    return this.#clusterBindings.size > 0 || this.#namespaces.size > 0;
  }

  put(key: PolicyKey, object: JsonObject): void {
    runSync(this.putResumable(key, object));
  }

  /**
   * Like `put`, but yields to the event loop: the previous object applies until the new one is read
   * completely.
   */
  *putResumable(key: PolicyKey, object: JsonObject): Resumable<void> {
    const { resource, namespace, name } = key;
    if (resource === "clusterroles" || resource === "roles") {
      const role = yield* readRole(name, object);
      this.remove(key);
      if (resource === "clusterroles") this.#clusterRoles.set(name, role);
      else this.#namespace(namespace).roles.set(name, role);
      return;
    }
    const isOfCluster = resource === "clusterrolebindings";
    const binding = yield* readBinding(isOfCluster ? "" : namespace, name, object);
    this.remove(key);
    const bindings = isOfCluster ? this.#clusterBindings : this.#namespace(namespace).bindings;
    const subjects = isOfCluster ? this.#clusterSubjects : this.#namespace(namespace).subjects;
    bindings.set(name, binding);
    subjects.add(binding);
  }

  remove({ resource, namespace, name }: PolicyKey): void {
    this.#version++;
    if (resource === "clusterroles") {
      this.#clusterRoles.delete(name);
      this.#aggregated.clear();
      this.#sorted = undefined;
      return;
    }
    if (resource === "clusterrolebindings") {
      drop(this.#clusterBindings, this.#clusterSubjects, name);
      return;
    }
    const within = this.#namespaces.get(namespace);
    if (within === undefined) return;
    if (resource === "roles") within.roles.delete(name);
    else drop(within.bindings, within.subjects, name);
    if (within.roles.size + within.bindings.size === 0) this.#namespaces.delete(namespace);
  }

  /** The subjects of ClusterRoleBindings. */
  get clusterSubjects(): SubjectIndex {
    return this.#clusterSubjects;
  }

  /** The subjects of RoleBindings of the namespace. */
  subjectsIn(namespace: string): SubjectIndex | undefined {
    return this.#namespaces.get(namespace)?.subjects;
  }

  /** The rules of the role, or undefined when there is none of that name. */
  rulesOf({ kind, name }: RoleRef, namespace: string): readonly RuleSet[] | undefined {
    if (kind === "Role") return this.#namespaces.get(namespace)?.roles.get(name)?.own;
    const role = this.#clusterRole(name);
    if (role === undefined) return undefined;
    return role.selectors === undefined ? role.own : this.#aggregate(role);
  }

  /** The aggregated ClusterRoles of this cluster, each with its rules if the stored ones differ. */
  *aggregatedRoles(): Generator<{ readonly name: string; readonly wanted: JsonValue | undefined }> {
    let room = aggregatedBytesTotalMax;
    for (const { name } of this.#seen()) {
      const role = this.#clusterRoles.get(name);
      if (role?.selectors === undefined) continue;
      const wanted = withoutRepeats(this.#aggregate(role), Math.min(room, aggregatedBytesMax));
      room -= wanted?.bytes ?? 0;
      const isStored = wanted === undefined || isSame([...wanted.rules.keys()], role.rules.texts);
      yield { name, wanted: isStored ? undefined : [...wanted.rules.values()].map(ruleObject) };
    }
  }

  #clusterRole(name: string): RoleRecord | undefined {
    const own = this.#clusterRoles.get(name);
    if (own !== undefined || this.#base === undefined) return own;
    return this.#base.#clusterRoles.get(name);
  }

  #namespace(name: string): Namespace {
    let found = this.#namespaces.get(name);
    if (found === undefined) {
      found = { roles: new Map(), bindings: new Map(), subjects: new SubjectIndex() };
      this.#namespaces.set(name, found);
    }
    return found;
  }

  #aggregate(role: RoleRecord): readonly RuleSet[] {
    if (this.#aggregated.size === 0) this.#aggregateAll();
    return this.#aggregated.get(role.name) ?? noRuleSets;
  }

  /**
   * Aggregates all roles in one order, so that the result does not depend on which role is
   * evaluated first: the base's, then by name.
   */
  #aggregateAll(): void {
    const sorted = this.#seen();
    const isOwn = ({ name }: RoleRecord) => this.#clusterRoles.has(name);
    const gathering = sorted
      .filter(({ selectors }) => selectors !== undefined)
      .toSorted((a, b) => Number(isOwn(a)) - Number(isOwn(b)));
    const comparing = { left: aggregationComparisonsMax };
    const selected = new Map(
      gathering.map((role) => [role.name, selectedBy(role, sorted, comparing)]),
    );
    const walking = { left: aggregationComparisonsMax };
    for (const role of gathering)
      this.#aggregated.set(role.name, aggregateFrom(role, selected, walking));
  }

  /** Every visible ClusterRole, by name. */
  #seen(): readonly RoleRecord[] {
    this.#sorted ??= this.#byName();
    return this.#sorted;
  }

  /** Every visible ClusterRole, the cluster's own before the base's of the same name. */
  #byName(): readonly RoleRecord[] {
    const all = new Map(this.#base === undefined ? [] : this.#base.#clusterRoles);
    for (const [name, role] of this.#clusterRoles) all.set(name, role);
    return [...all.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }
}

/** The roles that a role's own selectors select, in the order of names. */
function selectedBy(
  role: RoleRecord,
  sorted: readonly RoleRecord[],
  work: ComparisonBudget,
): RoleRecord[] {
  const found = new Set<RoleRecord>();
  for (const selector of role.selectors?.each() ?? []) {
    work.left -= selector.cost + sorted.length * (selector.requirementCount + 1);
    if (work.left < 0) return [];
    for (const other of sorted) if (selector.matches(other.labels)) found.add(other);
  }
  return [...found];
}

/**
 * Aggregated roles may select each other; each role counts once, so that cycles end. Nothing is
 * found beyond the limit of comparisons.
 */
function aggregateFrom(
  role: RoleRecord,
  selected: ReadonlyMap<string, readonly RoleRecord[]>,
  work: ComparisonBudget,
): readonly RuleSet[] {
  const found: RuleSet[] = [];
  const seen = new Set([role.name]);
  const waiting = [role];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const others = selected.get(next.name) ?? [];
    work.left -= others.length;
    if (work.left < 0) return noRuleSets;
    for (const other of others) {
      if (seen.has(other.name)) continue;
      seen.add(other.name);
      if (other.selectors === undefined) found.push(other.rules);
      else waiting.push(other);
    }
  }
  return found;
}

function drop(bindings: Map<string, Binding>, subjects: SubjectIndex, name: string): void {
  const binding = bindings.get(name);
  if (binding === undefined) return;
  bindings.delete(name);
  subjects.remove(binding);
}

function* readRole(name: string, object: JsonObject): Resumable<RoleRecord> {
  const rules = new RuleSet(readRules(object["rules"]));
  yield;
  const { labels } = object["metadata"] as JsonObject;
  return {
    name,
    rules,
    own: [rules],
    labels: isJsonObject(labels) ? (labels as Readonly<Record<string, string>>) : noLabels,
    selectors: isJsonObject(object["aggregationRule"])
      ? new AggregationSelectors(object["aggregationRule"]["clusterRoleSelectors"])
      : undefined,
  };
}

const noLabels = Object.freeze(Object.create(null)) as Readonly<Record<string, string>>;

/** Each rule once, by its JSON; undefined when they are too large to be written. */
function withoutRepeats(
  sets: readonly RuleSet[],
  bytesMax: number,
): { readonly rules: ReadonlyMap<string, PolicyRule>; readonly bytes: number } | undefined {
  const found = new Map<string, PolicyRule>();
  let bytes = 0;
  for (const { rules, texts } of sets) {
    for (const [i, rule] of rules.entries()) {
      const text = texts[i] as string;
      if (found.has(text)) continue;
      bytes += text.length;
      if (bytes > bytesMax) return undefined;
      found.set(text, rule);
    }
  }
  return { rules: found, bytes };
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
