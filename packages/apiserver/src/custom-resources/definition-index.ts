/**
 * DefinitionIndex: the CustomResourceDefinitions of each logical cluster. The definitions are
 * loaded from storage when a cluster is first requested, updated by events of the hub, and evicted
 * when many other clusters have been requested since.
 */
import { neverAborted, runSyncFirst } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { compareVersionPriority } from "@kcp-ts/machinery/schema";
import type { ResourceDefinition } from "../registry/index.ts";
import { copyString } from "../request/copy-string.ts";
import {
  clusterPrefix,
  parseObjectKey,
  resourcePrefix,
  type Storage,
  type StorageError,
} from "../storage/index.ts";
import { isBeingDeleted } from "../stored-object/index.ts";
import {
  type HubEvent,
  type HubListener,
  isContinuous,
  type WatchHub,
} from "../watch-cache/index.ts";
import type { Conversion } from "./conversion.ts";
import { DefinitionRecord } from "./definition-record.ts";
import { customResourceDefinitions } from "./definitions.ts";

export interface DefinitionIndexOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly conversion: Conversion;
  readonly clustersMax?: number;
  readonly definitionsMax?: number;
}

/**
 * The number of logical clusters in the index; a cluster without definitions takes some hundred
 * bytes.
 */
const clustersDefaultMax = 50_000;
/** The definitions of all these clusters together; each takes about a kilobyte. */
const definitionsDefaultMax = 200_000;
const pageEntries = 100;

export class ClusterDefinitions {
  readonly cluster: ClusterName;
  /** By name, which is plural and group. */
  readonly records = new Map<string, DefinitionRecord>();
  /** The number of definitions when they were loaded, with which the index computes its size. */
  loaded = 0;
  #served: readonly ResourceDefinition[] | undefined;

  constructor(cluster: ClusterName) {
    this.cluster = cluster;
  }

  apply(event: HubEvent, name: string): void {
    const known = this.records.get(name);
    if (known !== undefined && known.modifiedAt >= event.revision) return;
    this.#served = undefined;
    if (event.current !== undefined) {
      this.records.set(name, new DefinitionRecord(event.current, known));
      return;
    }
    this.records.delete(name);
    known?.retire();
  }

  /** Under the name that a definition of this resource has, whatever it says itself. */
  named(group: string, resource: string): DefinitionRecord | undefined {
    return this.records.get(`${resource}.${group === "" ? "core" : group}`);
  }

  /** Until all that came so far can be looked into in one turn of the event loop. */
  async prepare(): Promise<this> {
    for (const record of [...this.records.values()]) await record.prepare();
    return this;
  }

  find(group: string, resource: string): DefinitionRecord | undefined {
    const record = this.named(group, resource);
    return record !== undefined && record.shared.group === group ? record : undefined;
  }

  /** All served definitions, in the order of discovery; the identical list until a change. */
  get served(): readonly ResourceDefinition[] {
    this.#served ??= inDiscoveryOrder(
      [...this.records.values()]
        .filter(({ isServed }) => isServed)
        .flatMap(({ shared }) => [...shared.versions]),
    );
    return this.#served;
  }
}

function inDiscoveryOrder(served: ResourceDefinition[]): readonly ResourceDefinition[] {
  // A cluster has thousands of definitions, and few names of versions, which are slow to compare.
  const names = [...new Set(served.map(({ version }) => version))].sort(compareVersionPriority);
  const rankOf = new Map(names.map((name, rank) => [name, rank]));
  return served.sort((a, b) => {
    if (a.group !== b.group) return a.group < b.group ? -1 : 1;
    const byVersion = (rankOf.get(a.version) as number) - (rankOf.get(b.version) as number);
    if (byVersion !== 0) return byVersion;
    return a.resource < b.resource ? -1 : a.resource > b.resource ? 1 : 0;
  });
}

export class DefinitionIndex implements HubListener {
  readonly conversion: Conversion;
  readonly #options: DefinitionIndexOptions;
  /** In order of last use, oldest first. */
  readonly #clusters = new Map<ClusterName, ClusterDefinitions>();
  readonly #loading = new Map<ClusterName, Loading>();
  /** The cluster that was requested last, which is already at the end. */
  #newest: ClusterDefinitions | undefined;
  #definitions = 0;

  constructor(options: DefinitionIndexOptions) {
    this.conversion = options.conversion;
    this.#options = options;
    this.#listen();
    options.hub.clusterDeletions.onDeleted((cluster) => {
      this.#loading.delete(cluster);
      this.#drop(cluster);
    });
  }

  get size(): number {
    return this.#clusters.size;
  }

  /** The definitions of a cluster if they are in memory. */
  peek(cluster: ClusterName): ClusterDefinitions | undefined {
    const found = this.#clusters.get(cluster);
    if (found === undefined || found === this.#newest) return found;
    this.#clusters.delete(cluster);
    this.#clusters.set(found.cluster, found);
    this.#newest = found;
    return found;
  }

  /** Like `peek`, but does not count as use. */
  peekWithoutTouch(cluster: ClusterName): ClusterDefinitions | undefined {
    return this.#clusters.get(cluster);
  }

  load(cluster: ClusterName): Promise<ClusterDefinitions> {
    const found = this.peek(cluster);
    if (found !== undefined) return Promise.resolve(found);
    const known = this.#loading.get(cluster);
    if (known !== undefined) return known.done;
    const loading: Loading = { events: [], done: Promise.resolve(noDefinitions) };
    this.#loading.set(cluster, loading);
    loading.done = this.#load(cluster, loading).finally(() => {
      if (this.#loading.get(cluster) === loading) this.#loading.delete(cluster);
    });
    return loading.done;
  }

  onEvent(event: HubEvent): void {
    const { cluster, name } = parseObjectKey(event.key);
    this.#loading.get(cluster)?.events.push(event);
    const definitions = this.#clusters.get(cluster);
    if (definitions === undefined) return;
    definitions.apply(event, name);
    // A large definition is parsed before a client requests it, unless it is being removed.
    if (event.current !== undefined && !isBeingDeleted(event.current))
      void definitions.records.get(name)?.prepare();
  }

  onLost(error: StorageError): void {
    for (const { records } of this.#clusters.values())
      for (const record of records.values()) record.retire();
    this.#clusters.clear();
    this.#newest = undefined;
    this.#definitions = 0;
    this.#loading.clear();
    if (error.code !== "closed") this.#listen();
  }

  #listen(): void {
    this.#options.hub.listen(resourcePrefix(customResourceDefinitions), this);
  }

  async #load(cluster: ClusterName, loading: Loading): Promise<ClusterDefinitions> {
    const { storage, hub } = this.#options;
    const signal = neverAborted;
    const prefix = clusterPrefix({ ...resourceOf, cluster });
    const definitions = new ClusterDefinitions(copyString(cluster));
    for (let continueAfter: Parameters<Storage["list"]>[1]["continueAfter"]; ; ) {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      for (const entry of page.entries) {
        const { name } = parseObjectKey(entry.key);
        const record = new DefinitionRecord(entry, undefined);
        await runSyncFirst(record.parsed());
        definitions.records.set(name, record);
      }
      if (!page.more) {
        if (!(await isContinuous(hub.waitForRevision(page.revision, signal))))
          return this.load(cluster);
        break;
      }
      continueAfter = page.entries.at(-1)?.key;
    }
    for (const event of loading.events) definitions.apply(event, parseObjectKey(event.key).name);
    // A cluster that was lost meanwhile is loaded again by the next request.
    if (this.#loading.get(cluster) === loading) this.#keep(cluster, definitions);
    return definitions;
  }

  #keep(cluster: ClusterName, definitions: ClusterDefinitions): void {
    const { clustersMax = clustersDefaultMax, definitionsMax = definitionsDefaultMax } =
      this.#options;
    definitions.loaded = definitions.records.size;
    this.#definitions += definitions.loaded;
    this.#clusters.set(definitions.cluster, definitions);
    this.#newest = definitions;
    for (const oldest of this.#clusters.keys()) {
      const isTooMuch = this.#clusters.size > clustersMax || this.#definitions > definitionsMax;
      if (!isTooMuch || oldest === cluster) return;
      this.#drop(oldest);
    }
  }

  #drop(cluster: ClusterName): void {
    const found = this.#clusters.get(cluster);
    if (found === undefined) return;
    for (const record of found.records.values()) record.retire();
    if (found === this.#newest) this.#newest = undefined;
    this.#clusters.delete(cluster);
    this.#definitions -= found.loaded;
  }
}

interface Loading {
  readonly events: HubEvent[];
  done: Promise<ClusterDefinitions>;
}

const noDefinitions = new ClusterDefinitions("" as ClusterName);
const { group, resource, identity } = customResourceDefinitions;
const resourceOf = { group, resource, identity };
