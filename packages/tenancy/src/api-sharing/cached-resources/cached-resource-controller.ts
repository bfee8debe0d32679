/**
 * Reconciles ClusterCachedResources and their endpoint slices: identities, the number of published
 * objects, endpoints.
 *
 * One loop reconciles all logical clusters, like that of exports and bindings. Every step is
 * level-based and can be repeated.
 */
import { type Catalog, collectionKeyOf } from "@kcp-ts/apiserver/registry";
import { clusterPrefix, type StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { type JsonObject, textOf } from "@kcp-ts/machinery/json";
import {
  type Condition,
  conditionsOf,
  findCondition,
  KeyedWorkQueue,
  member,
  setCondition,
  uncancelled,
} from "../../workspaces/index.ts";
import type { ApiSharingDependencies } from "../dependencies.ts";
import { type Identity, identityOf } from "../identity.ts";
import { SecretWaiters } from "../secret-waiters.ts";
import { updateAsSystem } from "../update-as-system.ts";
import { clusterCachedResourceEndpointSlices, clusterCachedResources } from "./kinds.ts";
import { type CachedResourceRecord, readCachedSlice } from "./records.ts";
import { SelectorCount } from "./selector-count.ts";
import {
  isProblem,
  type Problem,
  type SelectedResource,
  servedResource,
} from "./served-resource.ts";
import { cachedSliceStatus, type SliceTargets } from "./slice-status.ts";

export interface CachedResourceControllerOptions {
  readonly dependencies: ApiSharingDependencies;
  readonly catalog: () => Catalog;
  readonly externalUrl: () => string;
  readonly recordOf: (key: StorageKey) => CachedResourceRecord | undefined;
  readonly targets: SliceTargets;
}

/** Creations and deletions within this time are reported in one status write. */
const countDelayMs = 200;

interface Counting {
  readonly content: string;
  readonly count: SelectorCount;
}

export class CachedResourceController {
  readonly #options: CachedResourceControllerOptions;
  readonly resources: KeyedWorkQueue<StorageKey>;
  readonly slices: KeyedWorkQueue<StorageKey>;
  readonly #secretWaiters = new SecretWaiters();
  readonly #counts = new Map<StorageKey, Counting>();
  /** ClusterCachedResources with a scheduled write of their count. */
  readonly #recountAt = new Set<StorageKey>();

  constructor(options: CachedResourceControllerOptions) {
    this.#options = options;
    const { clock, onError } = options.dependencies;
    const queue = (work: (key: StorageKey) => Promise<undefined>) =>
      new KeyedWorkQueue<StorageKey>({ clock, onError, work });
    this.resources = queue((key) => this.#reconcileResource(key));
    this.slices = queue((key) => this.#reconcileSlice(key));
  }

  async stop(): Promise<void> {
    for (const key of [...this.#counts.keys()]) this.#endCount(key);
    await Promise.all([this.resources.stop(), this.slices.stop()]);
  }

  /** Called for every change of a Secret. */
  onSecret(key: StorageKey): void {
    for (const waiting of this.#secretWaiters.take(key)) this.resources.add(waiting);
  }

  async #reconcileResource(key: StorageKey): Promise<undefined> {
    const { dependencies, catalog, recordOf } = this.#options;
    this.#recountAt.delete(key);
    const record = recordOf(key);
    const object = record && (await this.#read(key));
    if (record === undefined || object === undefined || record.isDeleted) {
      this.#endCount(key);
      return;
    }
    const identity = await identityOf(dependencies, record.cluster, object);
    if (identity.missing !== undefined) this.#secretWaiters.add(identity.missing, key);
    const served = await servedResource(dependencies, catalog(), record);
    const count = await this.#countOf(key, record, served);
    await updateAsSystem(dependencies, clusterCachedResources, record, async (old) =>
      desiredStatus(old, { identity, served, count, nowMs: dependencies.clock.now() }),
    );
  }

  async #countOf(
    key: StorageKey,
    { cluster, content }: CachedResourceRecord,
    served: SelectedResource | Problem,
  ): Promise<number> {
    if (isProblem(served)) {
      this.#endCount(key);
      return 0;
    }
    const prefix = clusterPrefix({ ...collectionKeyOf(served.definition), cluster });
    const known = this.#counts.get(key);
    const isRight =
      known?.content === content && known.count.prefix === prefix && !known.count.isLost;
    if (known !== undefined && isRight) return known.count.value();
    this.#endCount(key);
    const { storage, watchCache } = this.#options.dependencies;
    const count = new SelectorCount({
      ...{ storage, hub: watchCache.hub, prefix, selector: served.selector },
      onChange: () => this.#onCount(key),
    });
    this.#counts.set(key, { content, count });
    return count.value();
  }

  #onCount(key: StorageKey): void {
    if (this.#recountAt.has(key)) return;
    this.#recountAt.add(key);
    this.resources.addAfter(key, countDelayMs);
  }

  #endCount(key: StorageKey): void {
    this.#counts.get(key)?.count.close();
    this.#counts.delete(key);
  }

  async #reconcileSlice(key: StorageKey): Promise<undefined> {
    const { dependencies, targets, externalUrl } = this.#options;
    const entry = await dependencies.watchCache.get(key, { kind: "latest" }, uncancelled);
    if (entry === undefined) return;
    const slice = readCachedSlice(entry);
    await updateAsSystem(dependencies, clusterCachedResourceEndpointSlices, slice, async (old) => ({
      ...old,
      status: await cachedSliceStatus(dependencies, targets, slice, {
        object: old,
        externalUrl: externalUrl(),
      }),
    }));
  }

  async #read(key: StorageKey): Promise<JsonObject | undefined> {
    const { watchCache } = this.#options.dependencies;
    const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
    return entry && decodeObject(entry);
  }
}

interface CachedResourceFindings {
  readonly identity: Identity;
  readonly served: SelectedResource | Problem;
  readonly count: number;
  readonly nowMs: number;
}

/** Objects are not copied, so the cached count equals the local count. */
function desiredStatus(
  old: JsonObject,
  { identity, served, count, nowMs }: CachedResourceFindings,
): JsonObject {
  const [metadata, spec, status] = [
    member(old, "metadata"),
    member(old, "spec"),
    member(old, "status"),
  ];
  const wrong = isProblem(served) ? served : undefined;
  const isReady = wrong === undefined && identity.condition.status === "True";
  const told: Condition[] = [identity.condition, conditionOf("ResourceValid", wrong)];
  const hasStarted = findCondition(status, "ReplicationStarted") !== undefined;
  const hindrance = wrong ?? (isReady ? undefined : problemOf(identity.condition));
  if (isReady || hasStarted) told.push(conditionOf("ReplicationStarted", hindrance));
  const identityHash = textOf(status["identityHash"]) || identity.hash;
  const { secretRef } = identity;
  return {
    ...old,
    metadata: isProblem(served)
      ? metadata
      : { ...metadata, annotations: { ...member(metadata, "annotations"), ...marks(served) } },
    spec: { ...spec, identity: { ...member(spec, "identity"), secretRef } },
    status: {
      ...status,
      ...(identityHash === "" ? {} : { identityHash }),
      resourceCounts: { cache: count, local: count },
      phase: isReady ? "Ready" : "Initializing",
      conditions: told.reduce<readonly JsonObject[]>(
        (conditions, condition) => setCondition(conditions, condition, nowMs),
        conditionsOf(status),
      ) as JsonObject[],
    },
  };
}

function marks({ definition: { kind } }: SelectedResource): JsonObject {
  return { "cache.kcp.io/resource-kind": kind, "cache.kcp.io/resource-scope": "Cluster" };
}

function conditionOf(type: string, wrong: Problem | undefined): Condition {
  if (wrong === undefined) return { type, status: "True" };
  return { type, status: "False", severity: "Error", ...wrong };
}

function problemOf({ reason = "", message = "" }: Condition): Problem {
  return { reason, message };
}
