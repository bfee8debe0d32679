/**
 * The maximal permission policies of providers on other shards: the roles and bindings of their
 * logical clusters that speak of consumers. All of them are one replica for each logical cluster,
 * made of four lists and followed by four watches, so that decisions wait for nobody.
 */
import {
  ClusterPolicy,
  type PolicyResource,
  type PolicySource,
} from "@kcp-ts/apiserver/authorization";
import {
  clusterRoleBindings,
  clusterRoles,
  type ResourceDefinition,
  roleBindings,
  roles,
} from "@kcp-ts/apiserver/registry";
import { isStorageError, type Storage } from "@kcp-ts/apiserver/storage";
import { decodeObject, encodeObject } from "@kcp-ts/apiserver/stored-object";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import { type Clock, neverAborted, sleep } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  jsonEqual,
  objectsOf,
  textOf,
} from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import { listEntries } from "./list-entries.ts";
import { originalKey, replicaKey, replicaPrefix } from "./replica-key.ts";
import type { Replicas } from "./replicas.ts";

export interface SharedPoliciesOptions {
  readonly replicas: Replicas;
  readonly storage: Storage;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  /** Whether a binding on this shard has an export of this logical cluster with such a policy. */
  readonly isNeeded: (cluster: ClusterName) => boolean;
  readonly onError: (error: unknown) => void;
}

const parts: readonly (readonly [PolicyResource, ResourceDefinition])[] = [
  ["clusterroles", clusterRoles],
  ["clusterrolebindings", clusterRoleBindings],
  ["roles", roles],
  ["rolebindings", roleBindings],
];
/** The replica's key is that of a ClusterRole, of which there are no other replicas. */
const policies = clusterRoles;
const policyName = "policy";
const consumerPrefix = "apis.kcp.io:binding:";
const retryMs = 5_000;
/** Changes of roles in a row are one change of the policy. */
const gatherMs = 500;

export class SharedPolicies implements PolicySource {
  readonly #options: SharedPoliciesOptions;
  readonly #known = new Map<ClusterName, ClusterPolicy>();
  readonly #running = new Map<ClusterName, Promise<void>>();
  readonly #first = new Map<ClusterName, Promise<unknown>>();
  readonly #stopping = new AbortController();

  constructor(options: SharedPoliciesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    for await (const entry of listEntries(this.#options.storage, replicaPrefix(policies))) {
      const cluster = clusterOf(entry.key);
      this.#known.set(cluster, policyOf(decodeObject(entry)));
      this.follow(cluster);
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running.values());
  }

  peek(cluster: ClusterName): ClusterPolicy | undefined {
    return this.#known.get(cluster);
  }

  /** Reads a policy that is not here yet, once for all that ask. */
  async load(cluster: ClusterName): Promise<ClusterPolicy> {
    // The operators' grants are none of a provider's.
    if (cluster.startsWith("system:")) return new ClusterPolicy();
    const known = this.#known.get(cluster);
    if (known !== undefined) return known;
    const reading: Promise<unknown> =
      this.#first.get(cluster) ?? this.#read(cluster).finally(() => this.#first.delete(cluster));
    this.#first.set(cluster, reading);
    try {
      await reading;
    } catch (error) {
      if (!isStatusError(error, "ServiceUnavailable")) throw error;
      const shard = this.#options.replicas.shardOf(cluster);
      throw statusError.unavailable(
        `the maximal permission policy of logical cluster ${cluster} is not known on this shard yet, and shard ${shard}, which has it, does not answer: try again later`,
      );
    }
    this.follow(cluster);
    return this.#known.get(cluster) ?? new ClusterPolicy();
  }

  /** Reads a policy before it is asked for, and follows its changes. */
  follow(cluster: ClusterName): void {
    if (this.#running.has(cluster) || this.#stopping.signal.aborted) return;
    const running = this.#run(cluster).finally(() => this.#running.delete(cluster));
    this.#running.set(cluster, running);
  }

  async #run(cluster: ClusterName): Promise<void> {
    const { clock, onError, isNeeded, replicas } = this.#options;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; ) {
      const isOurs = replicas.shardOf(cluster) === undefined;
      if (isOurs || (failures === 0 && !isNeeded(cluster))) return this.#forget(cluster);
      try {
        await this.#untilChanged(cluster, await this.#read(cluster));
        failures = 0;
        await pause(clock, gatherMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (failures++ === 0) onError(error);
        await pause(clock, retryMs, signal);
      }
    }
  }

  /** Returns the revisions after which changes of the four collections are not in the policy. */
  async #read(cluster: ClusterName): Promise<readonly number[]> {
    const { reader } = this.#options.replicas;
    const lists = [];
    for (const [, definition] of parts) lists.push(await reader.list(definition, cluster));
    const [clusterRoleList, clusterBindings, roleList, bindings] = lists.map(({ items }) => items);
    const object = {
      kind: "Policy",
      apiVersion: "v1",
      metadata: { name: policyName },
      ...policyObject({
        clusterroles: clusterRoleList ?? [],
        clusterrolebindings: clusterBindings ?? [],
        roles: roleList ?? [],
        rolebindings: bindings ?? [],
      }),
    };
    await this.#store(cluster, object);
    this.#known.set(cluster, policyOf(object));
    return lists.map(({ revision }) => revision);
  }

  /** Resolves with the first change, or when a watch ends. */
  async #untilChanged(cluster: ClusterName, revisions: readonly number[]): Promise<void> {
    const leaving = new AbortController();
    const signal = AbortSignal.any([leaving.signal, this.#stopping.signal]);
    const { reader } = this.#options.replicas;
    const first = async (definition: ResourceDefinition, revision: number): Promise<void> => {
      for await (const event of reader.watch(definition, cluster, revision, signal))
        if (event !== "open" && event.type !== "BOOKMARK") return;
    };
    try {
      await Promise.race(
        parts.map(([, definition], at) => first(definition, revisions[at] as number)),
      );
    } finally {
      leaving.abort();
    }
  }

  async #store(cluster: ClusterName, object: JsonObject): Promise<void> {
    const { storage } = this.#options;
    const key = replicaKey(policies, cluster, policyName);
    const before = await storage.get(key, { signal: neverAborted });
    if (before !== undefined && isSame(decodeObject(before), object)) return;
    const expected = before?.modifiedAt ?? "absent";
    try {
      const write = { key, value: encodeObject(object), expected } as const;
      await storage.commit(write, { signal: neverAborted });
    } catch (error) {
      // Another server of this shard follows the same policy.
      if (!isStorageError(error, "conflict")) throw error;
    }
  }

  async #forget(cluster: ClusterName): Promise<void> {
    const { storage } = this.#options;
    this.#known.delete(cluster);
    const key = replicaKey(policies, cluster, policyName);
    const before = await storage.get(key, { signal: neverAborted });
    if (before === undefined) return;
    const write = { key, value: "delete", expected: before.modifiedAt } as const;
    try {
      await storage.commit(write, { signal: neverAborted });
    } catch (error) {
      if (!isStorageError(error, "conflict")) throw error;
    }
  }
}

type PolicyObjects = Readonly<Record<PolicyResource, readonly JsonObject[]>>;

/** The bindings of consumers, and the roles that these name. */
function policyObject(all: PolicyObjects): JsonObject {
  const isOfConsumers = ({ subjects }: JsonObject) =>
    objectsOf(subjects).some(({ name }) => textOf(name).startsWith(consumerPrefix));
  const clusterrolebindings = all.clusterrolebindings.filter(isOfConsumers);
  const rolebindings = all.rolebindings.filter(isOfConsumers);
  const named = new Set(
    [...clusterrolebindings, ...rolebindings].map(({ roleRef }) =>
      isJsonObject(roleRef) ? `${textOf(roleRef["kind"])}/${textOf(roleRef["name"])}` : "",
    ),
  );
  const isNamed = (kind: string) => (role: JsonObject) => named.has(`${kind}/${nameOf(role)}`);
  return {
    // The rules of an aggregated role are in it: its shard has gathered them.
    clusterroles: all.clusterroles.filter(isNamed("ClusterRole")).map(withoutAggregation),
    clusterrolebindings,
    roles: all.roles.filter(isNamed("Role")),
    rolebindings,
  };
}

function withoutAggregation({ aggregationRule: _, ...role }: JsonObject): JsonObject {
  return role;
}

function policyOf(object: JsonObject): ClusterPolicy {
  const policy = new ClusterPolicy();
  for (const [resource] of parts) {
    for (const one of objectsOf(object[resource])) {
      const { metadata } = one;
      const namespace = isJsonObject(metadata) ? textOf(metadata["namespace"]) : "";
      policy.put({ resource, namespace, name: nameOf(one) }, one);
    }
  }
  return policy;
}

function isSame(stored: JsonObject, object: JsonObject): boolean {
  return parts.every(([part]) => jsonEqual(stored[part] ?? [], object[part] ?? []));
}

function nameOf({ metadata }: JsonObject): string {
  return isJsonObject(metadata) ? textOf(metadata["name"]) : "";
}

function clusterOf(key: Parameters<typeof originalKey>[1]): ClusterName {
  return originalKey(policies, key).split("/")[4] as ClusterName;
}

/** Ends early when the signal aborts. */
async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  await sleep(clock, ms, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
