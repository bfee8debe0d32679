/**
 * The admission configuration of a logical cluster: its webhooks, and its policies with their
 * bindings, ready for evaluation.
 *
 * Derived from the stored objects, which a source supplies. Clusters with equal objects share the
 * result.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Binding, readBinding } from "./policies/binding.ts";
import { type MutatingPolicy, readMutatingPolicy } from "./policies/mutating-policy.ts";
import { readValidatingPolicy, type ValidatingPolicy } from "./policies/validating-policy.ts";
import { readWebhooks, type Webhook } from "./webhooks/webhook.ts";

export interface ConfiguredWebhook {
  /** The name of the configuration object that contains the webhook. */
  readonly configuration: string;
  readonly webhook: Webhook;
}

/** A policy with its bindings; a policy without bindings is omitted. */
export interface BoundPolicy<Policy> {
  readonly name: string;
  readonly policy: Policy;
  readonly bindings: readonly NamedBinding[];
}

export interface NamedBinding {
  readonly name: string;
  readonly binding: Binding;
}

/** Webhooks and policies in the order in which they are called. */
export interface ClusterConfiguration {
  readonly mutatingWebhooks: readonly ConfiguredWebhook[];
  readonly validatingWebhooks: readonly ConfiguredWebhook[];
  readonly mutatingPolicies: readonly BoundPolicy<MutatingPolicy>[];
  readonly validatingPolicies: readonly BoundPolicy<ValidatingPolicy>[];
}

/** The configuration of all clusters that have none: compared by identity. */
export const emptyConfiguration: ClusterConfiguration = {
  mutatingWebhooks: [],
  validatingWebhooks: [],
  mutatingPolicies: [],
  validatingPolicies: [],
};

export const configurationGroup = "admissionregistration.k8s.io";

const readers = {
  mutatingwebhookconfigurations: readWebhooks,
  validatingwebhookconfigurations: readWebhooks,
  mutatingadmissionpolicies: readMutatingPolicy,
  mutatingadmissionpolicybindings: readBinding,
  validatingadmissionpolicies: readValidatingPolicy,
  validatingadmissionpolicybindings: readBinding,
} as const;

export type ConfigurationResource = keyof typeof readers;

/** The resources of the configuration objects, which webhooks and policies do not apply to. */
export const configurationResources = Object.keys(readers) as readonly ConfigurationResource[];

type Read<Resource extends ConfigurationResource> = ReturnType<(typeof readers)[Resource]>;
type Tables = { readonly [Resource in ConfigurationResource]: Map<string, Read<Resource>> };

/** The configuration objects of one cluster. */
export class ConfigurationSet {
  readonly #tables: Tables = {
    mutatingwebhookconfigurations: new Map(),
    validatingwebhookconfigurations: new Map(),
    mutatingadmissionpolicies: new Map(),
    mutatingadmissionpolicybindings: new Map(),
    validatingadmissionpolicies: new Map(),
    validatingadmissionpolicybindings: new Map(),
  };
  #assembled: ClusterConfiguration | undefined;

  get size(): number {
    let size = 0;
    for (const resource of configurationResources) size += this.#tables[resource].size;
    return size;
  }

  /** Sets an object; undefined deletes it. */
  set(resource: ConfigurationResource, name: string, object: JsonObject | undefined): void {
    this.#assembled = undefined;
    const table = this.#tables[resource] as Map<string, unknown>;
    if (object === undefined) table.delete(name);
    else table.set(name, readers[resource](object));
  }

  get configuration(): ClusterConfiguration {
    this.#assembled ??= this.size === 0 ? emptyConfiguration : this.#assemble();
    return this.#assembled;
  }

  #assemble(): ClusterConfiguration {
    const tables = this.#tables;
    return {
      mutatingWebhooks: webhooksOf(tables.mutatingwebhookconfigurations),
      validatingWebhooks: webhooksOf(tables.validatingwebhookconfigurations),
      mutatingPolicies: bound(
        tables.mutatingadmissionpolicies,
        tables.mutatingadmissionpolicybindings,
      ),
      validatingPolicies: bound(
        tables.validatingadmissionpolicies,
        tables.validatingadmissionpolicybindings,
      ),
    };
  }
}

function webhooksOf(table: ReadonlyMap<string, readonly Webhook[]>): readonly ConfiguredWebhook[] {
  return byName(table).flatMap(([configuration, webhooks]) =>
    webhooks.map((webhook) => ({ configuration, webhook })),
  );
}

function bound<Policy>(
  policies: ReadonlyMap<string, Policy>,
  bindings: ReadonlyMap<string, Binding>,
): readonly BoundPolicy<Policy>[] {
  const byPolicy = new Map<string, NamedBinding[]>();
  for (const [name, binding] of byName(bindings)) {
    const known = byPolicy.get(binding.policyName);
    if (known === undefined) byPolicy.set(binding.policyName, [{ name, binding }]);
    else known.push({ name, binding });
  }
  return byName(policies).flatMap(([name, policy]) => {
    const own = byPolicy.get(name);
    return own === undefined ? [] : [{ name, policy, bindings: own }];
  });
}

function byName<Value>(table: ReadonlyMap<string, Value>): [string, Value][] {
  return [...table].sort(([a], [b]) => (a < b ? -1 : 1));
}
