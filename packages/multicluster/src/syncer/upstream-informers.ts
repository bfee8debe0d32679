/**
 * The upstream half of the syncers' caches: one informer for each kind, over all logical clusters,
 * however many SyncTargets this process has.
 *
 * Only objects that are related to a SyncTarget are cached. Each syncer is notified of its own
 * objects only.
 */
import { type Clock, type Random, runTogether } from "@kcp-ts/machinery/base";
import {
  type Client,
  formatResource,
  Informer,
  type InformerHealth,
  type InformerScope,
  type KubernetesObject,
  type ObjectKey,
  type Resource,
} from "@kcp-ts/sdk";
import { relatedTargets } from "./assignment.ts";
import { runCacheVerifier } from "./cache-verifier.ts";
import { type CachedObject, cachedObject, liveObjectsMax } from "./cached-object.ts";

export interface UpstreamInformersOptions {
  readonly client: Client;
  readonly scope: InformerScope;
  /**
   * Caches only objects that are related to this SyncTarget; those of all SyncTargets if omitted.
   */
  readonly target?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** One kind as one syncer sees it. */
export interface UpstreamKind {
  get(key: ObjectKey): CachedObject | undefined;
  /** The keys of all objects that are related to the syncer's SyncTarget. */
  keys(): readonly ObjectKey[];
  readonly hasSynced: boolean;
  readonly health: InformerHealth;
  synced(signal: AbortSignal): Promise<void>;
  /** Relists, because an event was missed. */
  resync(): void;
  close(): void;
}

export interface UpstreamHandler {
  readonly changed: (key: ObjectKey) => void;
  /** An object of this name was deleted, related to the SyncTarget or not. */
  readonly deleted: (key: ObjectKey) => void;
  /** The informer relisted: deletions may have been missed. */
  readonly replaced: () => void;
  /** The watch works again. */
  readonly resumed: () => void;
  /** The informer has failed, and the kind must be opened again. */
  readonly failed: (error: unknown) => void;
}

interface SharedKind {
  readonly informer: Informer<KubernetesObject, CachedObject>;
  readonly handlers: Map<string, Set<UpstreamHandler>>;
  readonly stop: AbortController;
  users: number;
}

export class UpstreamInformers {
  readonly #options: UpstreamInformersOptions;
  readonly #kinds = new Map<string, SharedKind>();

  constructor(options: UpstreamInformersOptions) {
    this.#options = options;
  }

  /** The informer runs from the first open to the last close. */
  open(resource: Resource, target: string, handler: UpstreamHandler): UpstreamKind {
    const id = formatResource(resource);
    const shared = this.#kinds.get(id) ?? this.#start(id, resource);
    shared.users++;
    const handlers = shared.handlers.get(target) ?? new Set();
    shared.handlers.set(target, handlers);
    handlers.add(handler);
    const { informer } = shared;
    const close = once(() => {
      handlers.delete(handler);
      if (handlers.size === 0) shared.handlers.delete(target);
      if (--shared.users > 0) return;
      shared.stop.abort();
      if (this.#kinds.get(id) === shared) this.#kinds.delete(id);
    });
    return {
      get: (key) => informer.store.get(key),
      keys: () => informer.store.keysByIndex("target", { value: target }),
      get hasSynced() {
        return informer.hasSynced;
      },
      get health() {
        return informer.health;
      },
      synced: (signal) => informer.synced(signal),
      resync: () => informer.resync(),
      close,
    };
  }

  #start(id: string, resource: Resource): SharedKind {
    const { client, scope, target, clock, random, onError } = this.#options;
    const keep = ({ metadata }: KubernetesObject) => {
      const targets = relatedTargets(metadata);
      return target === undefined ? targets.size > 0 : targets.has(target);
    };
    const informer = new Informer<KubernetesObject, CachedObject>({
      client,
      resource,
      scope,
      clock,
      random,
      onError,
      filter: keep,
      transform: (object) => cachedObject(object),
      liveObjectsMax: liveObjectsMax.upstream,
      indexers: {
        target: { acrossClusters: true, values: (object) => [...relatedTargets(object.metadata)] },
      },
    });
    const handlers = new Map<string, Set<UpstreamHandler>>();
    const tell = (targets: Iterable<string>, key: ObjectKey) => {
      for (const one of targets) for (const { changed } of handlers.get(one) ?? []) changed(key);
    };
    informer.addHandler({
      added: (object, { key }) => tell(relatedTargets(object.metadata), key),
      updated: (object, { key, previous }) =>
        tell(
          new Set([...relatedTargets(object.metadata), ...relatedTargets(previous.metadata)]),
          key,
        ),
      // The last state of the object may name none of the SyncTargets that it was assigned to: all
      // handlers are notified.
      deleted: (_object, { key }) => {
        for (const set of handlers.values()) for (const { deleted } of set) deleted(key);
      },
      replaced: () => {
        for (const set of handlers.values()) for (const { replaced } of set) replaced();
      },
      resumed: () => {
        for (const set of handlers.values()) for (const { resumed } of set) resumed();
      },
    });
    const stop = new AbortController();
    const shared: SharedKind = { informer, handlers, stop, users: 0 };
    this.#kinds.set(id, shared);
    const report = (error: unknown) => onError?.(error);
    const audited = { informer, client, scope, keep, clock, random, onError: report };
    runTogether(stop.signal, [
      (signal) => informer.run(signal),
      (signal) => runCacheVerifier(audited, signal),
    ]).catch((error) => {
      // The next open of the kind gets another informer.
      if (this.#kinds.get(id) === shared) this.#kinds.delete(id);
      for (const set of handlers.values()) for (const { failed } of set) failed(error);
    });
    return shared;
  }
}

function once(body: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    body();
  };
}
