/**
 * Roles and bindings of one logical cluster, as decisions need them; kept up object by object.
 *
 * A cluster stands on a base that is shared by all: a ClusterRole that the cluster itself does not have is looked for there, and the
 * base's roles count when rules are gathered from others. The base's bindings do not count here: they are asked on their own.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  type LabelSelector,
  type LabelSelectorObject,
  SelectorSyntaxError,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import { readRules, ruleObject } from "./policy-rule.ts";
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
  /** Empty for the two that are cluster-scoped. */
  readonly namespace: string;
  readonly name: string;
}

interface RoleRecord {
  readonly name: string;
  readonly rules: RuleSet;
  /** The same, as the only item: what the role allows unless it is gathered from others. */
  readonly own: readonly RuleSet[];
  readonly labels: Readonly<Record<string, string>>;
  /** Set when the rules are gathered from roles with such labels. */
  readonly selectors: readonly LabelSelector[] | undefined;
}

/**
 * Label requirements that are compared between two changes of ClusterRoles, so that gathering takes some ten milliseconds at most.
 * Roles that gather beyond allow nothing.
 */
export const gatheringComparisonsMax = 300_000;

/** JSON of what a role gathered that is written into it; one that gathers more is left as it is. */
export const gatheredBytesMax = 1 << 20;

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
  /** What roles that gather rules come to, until some ClusterRole changes. */
  readonly #gathered = new Map<string, readonly RuleSet[]>();
  #sorted: readonly RoleRecord[] | undefined;
  #comparisonsLeft = gatheringComparisonsMax;
  #version = 0;

  constructor(base?: ClusterPolicy) {
    this.#base = base;
  }

  /** Another one after every change of it, or of what it stands on. */
  get version(): number {
    return this.#base === undefined ? this.#version : this.#version + this.#base.version;
  }

  /** Without them it allows nobody anything. */
  get hasBindings(): boolean {
    return this.#clusterBindings.size > 0 || this.#namespaces.size > 0;
  }

  put({ resource, namespace, name }: PolicyKey, object: JsonObject): void {
    this.remove({ resource, namespace, name });
    switch (resource) {
      case "clusterroles":
        this.#clusterRoles.set(name, readRole(name, object));
        return;
      case "clusterrolebindings": {
        const binding = readBinding("", name, object);
        this.#clusterBindings.set(name, binding);
        this.#clusterSubjects.add(binding);
        return;
      }
      case "roles":
        this.#namespace(namespace).roles.set(name, readRole(name, object));
        return;
      case "rolebindings": {
        const binding = readBinding(namespace, name, object);
        this.#namespace(namespace).bindings.set(name, binding);
        this.#namespace(namespace).subjects.add(binding);
      }
    }
  }

  remove({ resource, namespace, name }: PolicyKey): void {
    this.#version++;
    if (resource === "clusterroles") {
      this.#clusterRoles.delete(name);
      this.#gathered.clear();
      this.#sorted = undefined;
      this.#comparisonsLeft = gatheringComparisonsMax;
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

  /** Whom ClusterRoleBindings give something. */
  get clusterSubjects(): SubjectIndex {
    return this.#clusterSubjects;
  }

  /** Whom RoleBindings of the namespace give something. */
  subjectsIn(namespace: string): SubjectIndex | undefined {
    return this.#namespaces.get(namespace)?.subjects;
  }

  /** What the role allows, or undefined when there is none of that name. */
  rulesOf({ kind, name }: RoleRef, namespace: string): readonly RuleSet[] | undefined {
    if (kind === "Role") return this.#namespaces.get(namespace)?.roles.get(name)?.own;
    const role = this.#clusterRole(name);
    if (role === undefined) return undefined;
    return role.selectors === undefined ? role.own : this.#gather(role);
  }

  /** ClusterRoles of this cluster whose rules are gathered, with what is stored and what should be. */
  *gatheredRoles(): Generator<{ name: string; stored: JsonValue; wanted: JsonValue }> {
    for (const role of this.#clusterRoles.values()) {
      if (role.selectors === undefined) continue;
      const wanted = withoutRepeats(this.#gather(role));
      const stored = role.rules.rules.map(ruleObject);
      if (wanted !== undefined) yield { name: role.name, stored, wanted };
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

  #gather(role: RoleRecord): readonly RuleSet[] {
    const known = this.#gathered.get(role.name);
    if (known !== undefined) return known;
    const found = this.#gatherFrom(role) ?? [];
    this.#gathered.set(role.name, found);
    return found;
  }

  /** Roles that gather may be gathered themselves; each role counts once, so that circles end. Undefined when it takes too long. */
  #gatherFrom(role: RoleRecord): readonly RuleSet[] | undefined {
    this.#sorted ??= this.#byName();
    const found: RuleSet[] = [];
    const seen = new Set([role.name]);
    const waiting = [role];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const selector of next.selectors ?? []) {
        this.#comparisonsLeft -= this.#sorted.length * (selector.requirements.length + 1);
        if (this.#comparisonsLeft < 0) return undefined;
        for (const other of this.#sorted) {
          if (seen.has(other.name) || !selector.matches(other.labels)) continue;
          seen.add(other.name);
          if (other.selectors === undefined) found.push(other.rules);
          else waiting.push(other);
        }
      }
    }
    return found;
  }

  /** Every ClusterRole that can be seen here, the cluster's own before the base's of the same name. */
  #byName(): readonly RoleRecord[] {
    const all = new Map(this.#base === undefined ? [] : this.#base.#clusterRoles);
    for (const [name, role] of this.#clusterRoles) all.set(name, role);
    return [...all.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }
}

function drop(bindings: Map<string, Binding>, subjects: SubjectIndex, name: string): void {
  const binding = bindings.get(name);
  if (binding === undefined) return;
  bindings.delete(name);
  subjects.remove(binding);
}

function readRole(name: string, object: JsonObject): RoleRecord {
  const rules = new RuleSet(readRules(object["rules"]));
  const { labels } = object["metadata"] as JsonObject;
  return {
    name,
    rules,
    own: [rules],
    labels: isJsonObject(labels) ? (labels as Readonly<Record<string, string>>) : noLabels,
    selectors: isJsonObject(object["aggregationRule"])
      ? readSelectors(object["aggregationRule"]["clusterRoleSelectors"])
      : undefined,
  };
}

const noLabels = Object.freeze(Object.create(null)) as Readonly<Record<string, string>>;

/** A selector that cannot be read selects nothing. */
function readSelectors(selectors: JsonValue | undefined): readonly LabelSelector[] {
  return ((selectors ?? []) as readonly JsonValue[]).flatMap((selector) => {
    try {
      return [selectorFromLabelSelectorObject(selector as LabelSelectorObject)];
    } catch (error) {
      if (error instanceof SelectorSyntaxError) return [];
      throw error;
    }
  });
}

/** Each rule once; undefined when they are too many to be written down. */
function withoutRepeats(sets: readonly RuleSet[]): JsonValue | undefined {
  const found = new Map<string, JsonObject>();
  let left = gatheredBytesMax;
  for (const { rules } of sets) {
    for (const rule of rules) {
      const object = ruleObject(rule);
      const key = JSON.stringify(object);
      if (found.has(key)) continue;
      left -= key.length;
      if (left < 0) return undefined;
      found.set(key, object);
    }
  }
  return [...found.values()];
}
