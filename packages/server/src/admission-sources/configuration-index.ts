/**
 * What each logical cluster has configured for admission. Loaded from storage when a cluster is first written to, kept true by the hub,
 * forgotten when many other clusters were written to since.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type ClusterConfiguration,
  type ConfigurationResource,
  ConfigurationSet,
  type ConfigurationSource,
  configurationGroup,
  configurationResources,
} from "../admission/index.ts";
import {
  clusterPrefix,
  parseObjectKey,
  type Revision,
  resourcePrefix,
  type Storage,
  type StorageError,
} from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import type { HubEvent, WatchHub } from "../watch-cache/index.ts";

export interface ConfigurationIndexOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clustersMax?: number;
}

/** Logical clusters whose configuration is held; one without any takes about a hundred bytes. */
const clustersDefaultMax = 50_000;
const pageEntries = 100;

interface Loading {
  readonly events: { readonly resource: ConfigurationResource; readonly event: HubEvent }[];
  done: Promise<ClusterConfiguration>;
}

export class ConfigurationIndex implements ConfigurationSource {
  readonly #options: ConfigurationIndexOptions;
  /** Clusters used lately, and those before them: when the first half is full, the second is forgotten. */
  #young = new Map<ClusterName, ConfigurationSet>();
  #old = new Map<ClusterName, ConfigurationSet>();
  readonly #loading = new Map<ClusterName, Loading>();

  constructor(options: ConfigurationIndexOptions) {
    this.#options = options;
    for (const resource of configurationResources) this.#listen(resource);
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  peek(cluster: ClusterName): ClusterConfiguration | undefined {
    const found = this.#young.get(cluster);
    if (found !== undefined) return found.configuration;
    const older = this.#old.get(cluster);
    if (older === undefined) return undefined;
    this.#old.delete(cluster);
    this.#keep(cluster, older);
    return older.configuration;
  }

  load(cluster: ClusterName): Promise<ClusterConfiguration> {
    const found = this.peek(cluster);
    if (found !== undefined) return Promise.resolve(found);
    const known = this.#loading.get(cluster);
    if (known !== undefined) return known.done;
    const loading: Loading = { events: [], done: Promise.reject() };
    loading.done.catch(() => {
      // It stands in for the real one, which follows at once.
    });
    this.#loading.set(cluster, loading);
    loading.done = this.#load(cluster, loading).finally(() => {
      if (this.#loading.get(cluster) === loading) this.#loading.delete(cluster);
    });
    return loading.done;
  }

  #listen(resource: ConfigurationResource): void {
    this.#options.hub.listen(resourcePrefix(collectionOf(resource)), {
      onEvent: (event) => this.#onEvent(resource, event),
      onLost: (error) => this.#onLost(resource, error),
    });
  }

  #onEvent(resource: ConfigurationResource, event: HubEvent): void {
    const { cluster } = parseObjectKey(event.key);
    this.#loading.get(cluster)?.events.push({ resource, event });
    const known = this.#young.get(cluster) ?? this.#old.get(cluster);
    if (known !== undefined) apply(known, resource, event);
  }

  #onLost(resource: ConfigurationResource, error: StorageError): void {
    this.#young.clear();
    this.#old.clear();
    this.#loading.clear();
    if (error.code !== "closed") this.#listen(resource);
  }

  async #load(cluster: ClusterName, loading: Loading): Promise<ClusterConfiguration> {
    const { hub } = this.#options;
    const set = new ConfigurationSet();
    const revisions = new Map<ConfigurationResource, Revision>();
    const read = async (resource: ConfigurationResource) => {
      revisions.set(resource, await this.#read(cluster, resource, set));
    };
    await Promise.all(configurationResources.map(read));
    const { signal } = new AbortController();
    for (const revision of revisions.values()) await hub.reach(revision, signal);
    for (const { resource, event } of loading.events)
      if (event.revision > (revisions.get(resource) ?? 0)) apply(set, resource, event);
    // What was lost meanwhile is loaded again by whoever asks next.
    if (this.#loading.get(cluster) === loading) this.#keep(cluster, set);
    return set.configuration;
  }

  async #read(
    cluster: ClusterName,
    resource: ConfigurationResource,
    set: ConfigurationSet,
  ): Promise<Revision> {
    const { storage } = this.#options;
    const { signal } = new AbortController();
    const prefix = clusterPrefix({ ...collectionOf(resource), cluster });
    for (let continueAfter: Parameters<Storage["list"]>[1]["continueAfter"]; ; ) {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      for (const entry of page.entries)
        set.set(resource, parseObjectKey(entry.key).name, decodeObject(entry));
      if (!page.more) return page.revision;
      continueAfter = page.entries.at(-1)?.key;
    }
  }

  #keep(cluster: ClusterName, set: ConfigurationSet): void {
    const { clustersMax = clustersDefaultMax } = this.#options;
    if (this.#young.size >= clustersMax / 2) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(cluster, set);
  }
}

function collectionOf(resource: ConfigurationResource) {
  return { group: configurationGroup, resource, identity: "" };
}

function apply(set: ConfigurationSet, resource: ConfigurationResource, event: HubEvent): void {
  const { name } = parseObjectKey(event.key);
  set.set(resource, name, event.current === undefined ? undefined : decodeObject(event.current));
}
