/**
 * Sync policies that users write as ConfigMaps, in the logical cluster of their SyncTargets:
 *
 *     apiVersion: v1
 *     kind: ConfigMap
 *     metadata:
 *       name: sync-policies
 *       labels: { workload.kcp.io/sync-policy: "" }        # for all SyncTargets; or the name of
 *       one
 *     data:
 *       deployments.apps: '{"contested": [{"path": "spec.replicas", "mode": "lift"}]}'
 *
 * A policy for one SyncTarget takes precedence over a policy for all; among equals, the first by
 * namespace and name wins. A ConfigMap with an invalid policy is ignored, and an Event on it
 * reports the path and the reason.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { JsonSyntaxError, JsonTooManyValuesError } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  builtInResource,
  type Client,
  type Clusters,
  EventRecorder,
  formatKey,
  type KubernetesObject,
  type ObjectStore,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import { syncerFieldManager } from "./api/index.ts";
import { type Policies, PolicyError, parsePolicies, syncPolicyLabel } from "./syncer/index.ts";

export interface ConfigMap extends KubernetesObject {
  readonly data?: StringMap;
}

/** The valid policies of a ConfigMap. */
interface ReadPolicies {
  /** The name of the SyncTarget; empty for all SyncTargets. */
  readonly target: string;
  /** Namespace and name, for the order of precedence. */
  readonly object: string;
  readonly policies: Policies;
}

export const policyConfigMaps = builtInResource<ConfigMap>("configmaps");

export interface SyncPoliciesOptions {
  readonly client: Client;
  readonly clusters: Clusters;
  readonly clock?: Clock | undefined;
  readonly onChange: (cluster: ClusterName) => void;
  /** Called when all policies have been read, for the first time or again. */
  readonly onSynced: () => void;
  readonly onError: (error: unknown) => void;
}

export class SyncPolicies {
  readonly #store: ObjectStore<ConfigMap>;
  readonly #events: EventRecorder;
  readonly #onError: (error: unknown) => void;
  /** By object: the version whose error was reported. */
  readonly #told = new Map<string, string>();
  #hasSynced = false;

  constructor(options: SyncPoliciesOptions) {
    const { client, clusters, clock = systemClock, onChange, onSynced, onError } = options;
    this.#onError = onError;
    const source = clusters.source(policyConfigMaps, {
      selector: { labelSelector: syncPolicyLabel },
    });
    this.#store = source.store;
    this.#events = new EventRecorder({
      // An agent may only write Events of syncers about its own SyncTarget.
      component: syncerFieldManager,
      client: (cluster) => client.inCluster(cluster),
      clock,
      onError,
    });
    source.addHandler({
      added: (_object, { key }) => onChange(key.cluster),
      updated: (_object, { key }) => onChange(key.cluster),
      deleted: (_object, { key }) => {
        this.#told.delete(formatKey(key));
        onChange(key.cluster);
      },
      replaced: () => {
        this.#hasSynced = true;
        onSynced();
      },
    });
  }

  /**
   * No object is synced before the policies are known: a syncer without them would overwrite fields
   * of autoscalers.
   */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  of(cluster: ClusterName, target: string): Policies {
    return foldPolicies(
      this.#store
        .list({ cluster })
        .filter(({ metadata }) => isFor(metadata.labels, target))
        .flatMap((object) => this.#read(object, cluster, target)),
    );
  }

  #read(object: ConfigMap, cluster: ClusterName, of: string): readonly ReadPolicies[] {
    const { name, namespace = "", resourceVersion = "" } = object.metadata;
    try {
      return [readPolicies(object)];
    } catch (error) {
      const place = `${cluster}|${namespace}/${name}`;
      if (this.#told.get(place) === resourceVersion) return [];
      this.#told.set(place, resourceVersion);
      const why = error instanceof Error ? error.message : String(error);
      const message = `the sync policies of ConfigMap ${name} count for nothing, for SyncTarget ${of} as for others: ${why}; correct it`;
      this.#events.record(cluster, object, { type: "Warning", reason: "InvalidPolicy", message });
      this.#onError(new Error(message, { cause: error }));
      return [];
    }
  }
}

const unreadable = [PolicyError, JsonSyntaxError, JsonTooManyValuesError];

/**
 * The policies of a SyncTarget from the ConfigMaps of its logical cluster, read once and not
 * watched. An invalid policy is ignored, as syncers do.
 */
export function policiesFrom(configMaps: readonly ConfigMap[], target: string): Policies {
  return foldPolicies(
    configMaps
      .filter(({ metadata }) => isFor(metadata.labels, target))
      .flatMap((object) => {
        try {
          return [readPolicies(object)];
        } catch (error) {
          if (unreadable.some((kind) => error instanceof kind)) return [];
          throw error;
        }
      }),
  );
}

function readPolicies({ metadata, data }: ConfigMap): ReadPolicies {
  const { name, namespace = "", labels } = metadata;
  const policies = parsePolicies(textOf(data ?? {}));
  return {
    target: stringMember(labels, syncPolicyLabel) ?? "",
    object: `${namespace}/${name}`,
    policies,
  };
}

function foldPolicies(found: readonly ReadPolicies[]): Policies {
  const policies: Record<string, Policies[string]> = Object.create(null);
  for (const one of [...found].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)))
    for (const [kind, policy] of Object.entries(one.policies)) policies[kind] ??= policy;
  return policies;
}

function isFor(labels: StringMap | undefined, target: string): boolean {
  const value = stringMember(labels, syncPolicyLabel);
  return value === "" || value === target;
}

function rank({ target, object }: ReadPolicies): string {
  return `${target === "" ? 1 : 0} ${object}`;
}

/** The data as one JSON text; each member is JSON itself. */
function textOf(data: StringMap): string {
  const members = Object.entries(data).map(([kind, text]) => `${JSON.stringify(kind)}:${text}`);
  return `{${members.join()}}`;
}
