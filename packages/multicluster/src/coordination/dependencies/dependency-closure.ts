/**
 * The clusters to which each object of a namespace is propagated: the closure of the workloads'
 * dependencies. Pure.
 *
 * Invariant: an object is in exactly the clusters in which an assigned object depends on it,
 * directly or indirectly; an object without dependents is in none.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type LabelSelectorObject,
  SelectorSyntaxError,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import type { KubernetesObject, StringMap } from "@kcp-ts/sdk";
import { assignedTargets, isUpsynced, syncerFinalizerPrefix } from "../../api/index.ts";
import {
  accountReferences,
  ingressReferences,
  podReferences,
  type Reference,
} from "./references.ts";

/** A workload with its Pod template. */
export interface Referrer {
  readonly object: KubernetesObject;
  readonly template: JsonObject | undefined;
  /** The dependencies that the strategy of a custom kind has found. */
  readonly found?: readonly Reference[];
}

export interface NamespaceObjects {
  readonly referrers: readonly Referrer[];
  readonly ingresses: readonly KubernetesObject[];
  readonly accounts: readonly KubernetesObject[];
  readonly budgets: readonly KubernetesObject[];
}

export type DependencyTargets = ReadonlyMap<Reference, ReadonlySet<string>>;

export function dependencyTargetsOf({
  referrers,
  ingresses,
  accounts,
  budgets,
}: NamespaceObjects): DependencyTargets {
  const closure = new Map<Reference, Set<string>>();
  const add = (references: Iterable<Reference>, targets: Iterable<string>) => {
    for (const reference of references) {
      const known = closure.get(reference) ?? new Set();
      closure.set(reference, known);
      for (const target of targets) known.add(target);
    }
  };
  for (const { object, template, found = [] } of referrers)
    add([...podReferences(template), ...found], targetsOf(object));
  for (const ingress of ingresses) {
    add(ingressReferences(ingress as unknown as JsonObject), targetsOf(ingress));
  }
  for (const account of accounts) {
    const targets = closure.get(`serviceaccounts/${account.metadata.name}`);
    if (targets !== undefined) add(accountReferences(account as unknown as JsonObject), targets);
  }
  for (const budget of budgets) {
    const selected = referrers.filter(({ template }) => selects(budget, template));
    const name: Reference = `poddisruptionbudgets/${budget.metadata.name}`;
    add(
      [name],
      selected.flatMap(({ object }) => [...targetsOf(object)]),
    );
  }
  return closure;
}

/**
 * The clusters to which an object is assigned, and in which it may still exist. An upsynced object
 * has none: its cluster wrote its references and labels, and could thereby request any object.
 */
export function targetsOf({ metadata }: KubernetesObject): ReadonlySet<string> {
  const { labels, finalizers = [] } = metadata;
  const targets = new Set(assignedTargets(labels));
  if (isUpsynced(labels)) return targets;
  for (const finalizer of finalizers) {
    if (finalizer.startsWith(syncerFinalizerPrefix)) {
      targets.add(finalizer.slice(syncerFinalizerPrefix.length));
    }
  }
  return targets;
}

/**
 * Whether a PodDisruptionBudget selects the Pods of a template. A budget with an invalid selector
 * selects none.
 */
function selects(budget: KubernetesObject, template: JsonObject | undefined): boolean {
  const { selector } = ((budget as { spec?: object }).spec ?? {}) as { selector?: unknown };
  const { labels = {} } = ((template as { metadata?: object } | undefined)?.metadata ?? {}) as {
    labels?: StringMap;
  };
  if (template === undefined || typeof selector !== "object" || selector === null) return false;
  try {
    return selectorFromLabelSelectorObject(selector as LabelSelectorObject).matches(labels);
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return false;
    throw error;
  }
}
