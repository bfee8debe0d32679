/**
 * Roles and bindings of the logical clusters in use, for decisions: loaded on the first question about a cluster, kept true by the hub,
 * forgotten when many others were asked about since.
 *
 * Writes of roles and bindings are answered when the hub has them (`isSeenOnAnswer`), so that a decision after the answer knows them.
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
import { copyString } from "../request/own-text.ts";
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

/** Logical clusters whose policy is held; one without roles takes about a kilobyte. */
const clustersDefaultMax = 50_000;
/**
 * Logical clusters without roles whose policy is held. Anybody can ask about a name that nobody uses: such names push out each other, and
 * nobody who has roles.
 */
const emptyClustersDefaultMax = 1000;
/** Memory of all roles and bindings that are held. */
const bytesDefaultMax = 256 << 20;
/** What an object takes in memory, measured: its subjects and rules are found by name. */
const bytesPerStoredByte = 4;
const bytesPerObject = 500;
const pageEntries = 200;
/** Objects beyond this size are read with rests. */
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
  readonly #held = new Map<ClusterName, CachedPolicy>();
  /** Those without roles, in the same order. */
  readonly #empty = new Map<ClusterName, CachedPolicy>();
  readonly #loading = new Map<ClusterName, Loading>();
  #bytes = 0;

  constructor(options: PolicyCacheOptions) {
    this.#options = options;
    this.#listen();
    options.hub.gone.tell((cluster) => this.#forget(cluster));
  }

  get size(): number {
    return this.#held.size + this.#empty.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  peek(cluster: ClusterName): ClusterPolicy | undefined {
    const found = this.#heldOf(cluster);
    if (found === undefined || found.catchingUp !== undefined) return undefined;
    if (this.#newest !== found) {
      const among = found.bytes === 0 ? this.#empty : this.#held;
      among.delete(cluster);
      among.set(found.cluster, found);
      this.#newest = found;
    }
    return found.policy;
  }

  /** What was asked for last is at the end already. */
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

  /** Reads what is large with rests. Until then nobody is told what the policy is: whoever asks waits. */
  async #catchUp(held: CachedPolicy): Promise<void> {
    try {
      for (let event = held.behind.shift(); event !== undefined; event = held.behind.shift())
        await runYielding(this.#apply(held, event));
    } catch {
      // What is wrong with it is told to those who ask next, for whom all of it is read again.
      if (this.#heldOf(held.cluster) === held) this.#forget(held.cluster);
    }
    held.catchingUp = undefined;
  }

  *#apply(held: CachedPolicy, event: HubEvent): Resumable<void> {
    const { cluster, bytes: before } = held;
    yield* held.applyInPieces(event);
    // It may have been forgotten meanwhile.
    if (this.#heldOf(cluster) !== held) return;
    this.#bytes += held.bytes - before;
    if ((before === 0) !== (held.bytes === 0)) this.#keep(cluster, held);
    else if (held.bytes > before) this.#shrink(held);
  }

  #heldOf(cluster: ClusterName): CachedPolicy | undefined {
    return this.#held.get(cluster) ?? this.#empty.get(cluster);
  }

  onLost(error: StorageError): void {
    this.#held.clear();
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
    if (!(await isContinuous(this.#options.hub.reach(newest, signal)))) return this.load(cluster);
    for (let event = loading.events.shift(); event !== undefined; event = loading.events.shift())
      await runSyncFirst(held.applyInPieces(event));
    // What was lost meanwhile is loaded again by whoever asks next.
    if (this.#loading.get(cluster) === loading) {
      this.#newest = held;
      this.#bytes += held.bytes;
      this.#keep(cluster, held);
    }
    return held.policy;
  }

  /** Puts it among its like, as the newest. */
  #keep(cluster: ClusterName, held: CachedPolicy): void {
    this.#held.delete(cluster);
    this.#empty.delete(cluster);
    (held.bytes === 0 ? this.#empty : this.#held).set(held.cluster, held);
    this.#shrink(held);
  }

  #forget(cluster: ClusterName): void {
    const held = this.#held.get(cluster);
    this.#bytes -= held?.bytes ?? 0;
    this.#held.delete(cluster);
    this.#empty.delete(cluster);
    this.#loading.delete(cluster);
    this.#newest = undefined;
  }

  /** Reads one kind's share and returns the revision up to which it is complete. */
  async #read(held: CachedPolicy, prefix: StorageKey): Promise<Revision> {
    const { storage } = this.#options;
    const signal = neverAborted;
    for (let continueAfter: StorageKey | undefined; ; ) {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      for (const entry of page.entries) {
        await runSyncFirst(held.putInPieces(entry));
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
    for (const [cluster, held] of this.#held) {
      if (this.#held.size <= clustersMax && this.#bytes <= bytesMax) return;
      if (held === used) continue;
      this.#held.delete(cluster);
      this.#bytes -= held.bytes;
    }
  }
}

/** A policy, and of which state of each object it knows. */
class CachedPolicy {
  readonly cluster: ClusterName;
  readonly policy = new ClusterPolicy(bootstrapPolicy);
  readonly #known = new Map<
    StorageKey,
    { readonly modifiedAt: Revision; readonly bytes: number }
  >();
  bytes = 0;
  /** Changes that it does not know yet, because one before them is being read. */
  readonly behind: HubEvent[] = [];
  catchingUp: Promise<void> | undefined;

  constructor(cluster: ClusterName) {
    this.cluster = cluster;
  }

  *putInPieces(entry: Entry): Resumable<void> {
    const { key, modifiedAt, value } = entry;
    const object = isLong(value) ? yield* decodeObjectResumable(entry) : decodeObject(entry);
    yield* this.policy.putInPieces(policyKey(key), object);
    const bytes = value.length * bytesPerStoredByte + bytesPerObject;
    this.bytes += bytes - (this.#known.get(key)?.bytes ?? 0);
    this.#known.set(key, { modifiedAt, bytes });
  }

  *applyInPieces(event: HubEvent): Resumable<void> {
    const known = this.#known.get(event.key);
    if (known !== undefined && known.modifiedAt >= event.revision) return;
    if (event.current !== undefined) {
      yield* this.putInPieces(event.current);
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
