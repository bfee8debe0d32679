/**
 * PolicyCache: the roles and bindings of the logical clusters in use, for RBAC decisions. The
 * policy of a cluster is loaded for the first decision, updated by events of the hub, and evicted
 * when many other clusters have been used since.
 *
 * Writes of roles and bindings are answered when the hub has seen them (`waitsForOwnWrite`), so
 * that a decision after the response includes them.
 */
import {
  neverAborted,
  type Resumable,
  runSync,
  runSyncFirst,
  runYielding,
  yieldToEventLoop,
} from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  bootstrapPolicy,
  ClusterPolicy,
  type PolicyKey,
  type PolicyResource,
  type PolicySource,
} from "../authorization/index.ts";
import {
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
  translateStorageErrors,
} from "../registry/index.ts";
import { copyString } from "../request/copy-string.ts";
import {
  clusterPrefix,
  type Entry,
  parseObjectKey,
  type Revision,
  resourcePrefix,
  type Storage,
  type StorageError,
  type StorageKey,
} from "../storage/index.ts";
import { decodeObject, decodeObjectResumable } from "../stored-object/index.ts";
import {
  type HubEvent,
  type HubListener,
  isContinuous,
  type WatchHub,
} from "../watch-cache/index.ts";

export interface PolicyCacheOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clustersMax?: number;
  readonly emptyClustersMax?: number;
  readonly bytesMax?: number;
}

/**
 * The number of logical clusters with a cached policy; a policy without roles takes about a
 * kilobyte.
 */
const clustersDefaultMax = 50_000;
/**
 * The number of logical clusters without roles that have a cached policy. Clients can request names
 * of clusters that do not exist: such names only evict each other, and no cluster with roles.
 */
const emptyClustersDefaultMax = 1000;
/** The memory of all cached roles and bindings. */
const bytesDefaultMax = 256 << 20;
/** The measured memory of an object per stored byte: its subjects and rules are indexed by name. */
const bytesPerStoredByte = 4;
const bytesPerObject = 500;
const pageEntries = 200;
/** Parsing larger objects yields to the event loop. */
const largeBytes = 64 << 10;

function isLong(value: Uint8Array): boolean {
  return value.length > largeBytes;
}

function isLarge({ current }: HubEvent): boolean {
  return current !== undefined && isLong(current.value);
}

const sources = [roles, clusterRoles, roleBindings, clusterRoleBindings];

export class PolicyCache implements PolicySource, HubListener {
  readonly #options: PolicyCacheOptions;
  /** In order of last use, oldest first. */
  readonly #policies = new Map<ClusterName, CachedPolicy>();
  /** The policies without roles, in the same order. */
  readonly #empty = new Map<ClusterName, CachedPolicy>();
  readonly #loading = new Map<ClusterName, Loading>();
  #bytes = 0;

  constructor(options: PolicyCacheOptions) {
    this.#options = options;
    this.#listen();
    options.hub.clusterDeletions.onDeleted((cluster) => this.#forget(cluster));
  }

  get size(): number {
    return this.#policies.size + this.#empty.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  peek(cluster: ClusterName): ClusterPolicy | undefined {
    const found = this.#heldOf(cluster);
    if (found === undefined || found.catchingUp !== undefined) return undefined;
    if (this.#newest !== found) {
      const among = found.bytes === 0 ? this.#empty : this.#policies;
      among.delete(cluster);
      among.set(found.cluster, found);
      this.#newest = found;
    }
    return found.policy;
  }

  /** The policy that was used last, which is already at the end. */
  #newest: CachedPolicy | undefined;

  load(cluster: ClusterName): Promise<ClusterPolicy> {
    const found = this.peek(cluster);
    if (found !== undefined) return Promise.resolve(found);
    const known = this.#loading.get(cluster);
    if (known !== undefined) return known.done;
    const catchingUp = this.#heldOf(cluster)?.catchingUp;
    if (catchingUp !== undefined) return catchingUp.then(() => this.load(cluster));
    const loading: Loading = { events: [], done: nothing };
    this.#loading.set(cluster, loading);
    const load = () => this.#load(cluster, loading);
    loading.done = translateStorageErrors({ resource: clusterRoles }, load).finally(() => {
      if (this.#loading.get(cluster) === loading) this.#loading.delete(cluster);
    });
    return loading.done;
  }

  onEvent(event: HubEvent): void {
    const { cluster } = parseObjectKey(event.key);
    this.#loading.get(cluster)?.events.push(event);
    const held = this.#heldOf(cluster);
    if (held === undefined) return;
    if (held.catchingUp !== undefined) held.behind.push(event);
    else if (isLarge(event)) {
      held.behind.push(event);
      held.catchingUp = this.#catchUp(held);
    } else runSync(this.#apply(held, event));
  }

  /**
   * Applies pending events, and yields to the event loop while it parses large objects. Decisions
   * wait until the policy has caught up.
   */
  async #catchUp(held: CachedPolicy): Promise<void> {
    try {
      for (let event = held.behind.shift(); event !== undefined; event = held.behind.shift())
        await runYielding(this.#apply(held, event));
    } catch {
      // The next decisions load the policy again, and report the error.
      if (this.#heldOf(held.cluster) === held) this.#forget(held.cluster);
    }
    held.catchingUp = undefined;
  }

  *#apply(held: CachedPolicy, event: HubEvent): Resumable<void> {
    const { cluster, bytes: before } = held;
    yield* held.applyResumably(event);
    // The policy may have been evicted meanwhile.
    if (this.#heldOf(cluster) !== held) return;
    this.#bytes += held.bytes - before;
    if ((before === 0) !== (held.bytes === 0)) this.#keep(cluster, held);
    else if (held.bytes > before) this.#shrink(held);
  }

  #heldOf(cluster: ClusterName): CachedPolicy | undefined {
    return this.#policies.get(cluster) ?? this.#empty.get(cluster);
  }

  onLost(error: StorageError): void {
    this.#policies.clear();
    this.#empty.clear();
    this.#loading.clear();
    this.#newest = undefined;
    this.#bytes = 0;
    if (error.code !== "closed") this.#listen();
  }

  #listen(): void {
    for (const source of sources) this.#options.hub.listen(resourcePrefix(source), this);
  }

  async #load(cluster: ClusterName, loading: Loading): Promise<ClusterPolicy> {
    const signal = neverAborted;
    const held = new CachedPolicy(copyString(cluster));
    const revisions = await Promise.all(
      sources.map((source) => this.#read(held, clusterPrefix({ ...source, cluster }))),
    );
    const newest = Math.max(...revisions) as Revision;
    if (!(await isContinuous(this.#options.hub.waitForRevision(newest, signal))))
      return this.load(cluster);
    for (let event = loading.events.shift(); event !== undefined; event = loading.events.shift())
      await runSyncFirst(held.applyResumably(event));
    // A policy that was lost meanwhile is loaded again by the next decision.
    if (this.#loading.get(cluster) === loading) {
      this.#newest = held;
      this.#bytes += held.bytes;
      this.#keep(cluster, held);
    }
    return held.policy;
  }

  /** Adds the policy to the map with or without roles, as the newest. */
  #keep(cluster: ClusterName, held: CachedPolicy): void {
    this.#policies.delete(cluster);
    this.#empty.delete(cluster);
    (held.bytes === 0 ? this.#empty : this.#policies).set(held.cluster, held);
    this.#shrink(held);
  }

  #forget(cluster: ClusterName): void {
    const held = this.#policies.get(cluster);
    this.#bytes -= held?.bytes ?? 0;
    this.#policies.delete(cluster);
    this.#empty.delete(cluster);
    this.#loading.delete(cluster);
    this.#newest = undefined;
  }

  /** Reads the objects of one kind and returns the revision up to which they are complete. */
  async #read(held: CachedPolicy, prefix: StorageKey): Promise<Revision> {
    const { storage } = this.#options;
    const signal = neverAborted;
    for (let continueAfter: StorageKey | undefined; ; ) {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      for (const entry of page.entries) {
        await runSyncFirst(held.putResumable(entry));
      }
      if (!page.more) return page.revision;
      continueAfter = page.entries.at(-1)?.key;
      await yieldToEventLoop();
    }
  }

  #shrink(used: CachedPolicy): void {
    const { emptyClustersMax = emptyClustersDefaultMax } = this.#options;
    for (const cluster of this.#empty.keys()) {
      if (this.#empty.size <= emptyClustersMax) break;
      this.#empty.delete(cluster);
    }
    const { clustersMax = clustersDefaultMax, bytesMax = bytesDefaultMax } = this.#options;
    for (const [cluster, held] of this.#policies) {
      if (this.#policies.size <= clustersMax && this.#bytes <= bytesMax) return;
      if (held === used) continue;
      this.#policies.delete(cluster);
      this.#bytes -= held.bytes;
    }
  }
}

/** A policy, and the revision of each of its objects. */
class CachedPolicy {
  readonly cluster: ClusterName;
  readonly policy = new ClusterPolicy(bootstrapPolicy);
  readonly #known = new Map<
    StorageKey,
    { readonly modifiedAt: Revision; readonly bytes: number }
  >();
  bytes = 0;
  /** Events that the policy does not include yet, because an earlier one is still being parsed. */
  readonly behind: HubEvent[] = [];
  catchingUp: Promise<void> | undefined;

  constructor(cluster: ClusterName) {
    this.cluster = cluster;
  }

  *putResumable(entry: Entry): Resumable<void> {
    const { key, modifiedAt, value } = entry;
    const object = isLong(value) ? yield* decodeObjectResumable(entry) : decodeObject(entry);
    yield* this.policy.putResumable(policyKey(key), object);
    const bytes = value.length * bytesPerStoredByte + bytesPerObject;
    this.bytes += bytes - (this.#known.get(key)?.bytes ?? 0);
    this.#known.set(key, { modifiedAt, bytes });
  }

  *applyResumably(event: HubEvent): Resumable<void> {
    const known = this.#known.get(event.key);
    if (known !== undefined && known.modifiedAt >= event.revision) return;
    if (event.current !== undefined) {
      yield* this.putResumable(event.current);
      return;
    }
    this.bytes -= known?.bytes ?? 0;
    this.#known.delete(event.key);
    this.policy.remove(policyKey(event.key));
  }
}

interface Loading {
  readonly events: HubEvent[];
  done: Promise<ClusterPolicy>;
}

const nothing: Promise<ClusterPolicy> = Promise.resolve(new ClusterPolicy());

function policyKey(key: StorageKey): PolicyKey {
  const { resource, namespace, name } = parseObjectKey(key);
  return { resource: resource as PolicyResource, namespace, name };
}
