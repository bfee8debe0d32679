/**
 * Brings ClusterCachedResources and their slices to where they say they want to be: identities, how many objects are published, endpoints.
 *
 * One loop for all logical clusters, as that of exports and bindings. Every step looks at what is stored and can be repeated.
 */

import { type Catalog, collectionKeyOf } from "@kcp-ts/apiserver/registry";
import { clusterPrefix, type StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type Condition,
  conditionsOf,
  findCondition,
  KeyedWorkQueue,
  member,
  setCondition,
  uncancelled,
} from "../../workspaces/index.ts";
import { type Identity, identityOf } from "../identity.ts";
import { textOf } from "../kinds/as-definition.ts";
import type { ApiSharingDependencies } from "../parts.ts";
import { SecretWaiters } from "../secret-waits.ts";
import { updateAsSystem } from "../update-as-system.ts";
import { clusterCachedResourceEndpointSlices, clusterCachedResources } from "./kinds.ts";
import { type CachedResourceRecord, readCachedSlice } from "./records.ts";
import { SelectorCount } from "./selected-count.ts";
import {
  isProblem,
  type Problem,
  type SelectedResource,
  servedResource,
} from "./served-resource.ts";
import { cachedSliceStatus, type SliceTargets } from "./slice-status.ts";

export interface CachedResourceControllerOptions {
  readonly parts: ApiSharingDependencies;
  readonly catalog: () => Catalog;
  readonly externalUrl: () => string;
  readonly recordOf: (key: StorageKey) => CachedResourceRecord | undefined;
  readonly targets: SliceTargets;
}

/** Objects that come and go are told of together. */
const countDelayMs = 200;

interface Counting {
  readonly content: string;
  readonly count: SelectorCount;
}

export class CachedResourceController {
  readonly #options: CachedResourceControllerOptions;
  readonly resources: KeyedWorkQueue<StorageKey>;
  readonly slices: KeyedWorkQueue<StorageKey>;
  readonly #secretWaits = new SecretWaiters();
  readonly #counts = new Map<StorageKey, Counting>();
  /** Whose number is told soon. */
  readonly #due = new Set<StorageKey>();

  constructor(options: CachedResourceControllerOptions) {
    this.#options = options;
    const { clock, onError } = options.parts;
    const queue = (work: (key: StorageKey) => Promise<undefined>) =>
      new KeyedWorkQueue<StorageKey>({ clock, onError, work });
    this.resources = queue((key) => this.#settleResource(key));
    this.slices = queue((key) => this.#settleSlice(key));
  }

  async stop(): Promise<void> {
    for (const key of [...this.#counts.keys()]) this.#endCount(key);
    await Promise.all([this.resources.stop(), this.slices.stop()]);
  }

  /** Told of every change of a secret. */
  onSecret(key: StorageKey): void {
    for (const waiting of this.#secretWaits.take(key)) this.resources.add(waiting);
  }

  async #settleResource(key: StorageKey): Promise<undefined> {
    const { parts, catalog, recordOf } = this.#options;
    this.#due.delete(key);
    const record = recordOf(key);
    const object = record && (await this.#read(key));
    if (record === undefined || object === undefined || record.isDeleted) {
      this.#endCount(key);
      return;
    }
    const identity = await identityOf(parts, record.cluster, object);
    if (identity.missing !== undefined) this.#secretWaits.add(identity.missing, key);
    const served = await servedResource(parts, catalog(), record);
    const count = await this.#countOf(key, record, served);
    await updateAsSystem(parts, clusterCachedResources, record, async (old) =>
      desiredStatus(old, { identity, served, count, nowMs: parts.clock.now() }),
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
    const { storage, watchCache } = this.#options.parts;
    const count = new SelectorCount({
      ...{ storage, hub: watchCache.hub, prefix, selector: served.selector },
      onChange: () => this.#onCount(key),
    });
    this.#counts.set(key, { content, count });
    return count.value();
  }

  #onCount(key: StorageKey): void {
    if (this.#due.has(key)) return;
    this.#due.add(key);
    this.resources.addLater(key, countDelayMs);
  }

  #endCount(key: StorageKey): void {
    this.#counts.get(key)?.count.close();
    this.#counts.delete(key);
  }

  async #settleSlice(key: StorageKey): Promise<undefined> {
    const { parts, targets, externalUrl } = this.#options;
    const entry = await parts.watchCache.get(key, { kind: "latest" }, uncancelled);
    if (entry === undefined) return;
    const slice = readCachedSlice(entry);
    await updateAsSystem(parts, clusterCachedResourceEndpointSlices, slice, async (old) => ({
      ...old,
      status: await cachedSliceStatus(parts, targets, slice, {
        object: old,
        externalUrl: externalUrl(),
      }),
    }));
  }

  async #read(key: StorageKey): Promise<JsonObject | undefined> {
    const { watchCache } = this.#options.parts;
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

/** Nothing is copied: what is cached is what is there. */
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
