/** ConfigurationIndex: the admission configuration of each logical cluster. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type ClusterConfiguration,
  type ConfigurationResource,
  ConfigurationSet,
  type ConfigurationSource,
  configurationGroup,
  configurationResources,
} from "../admission/index.ts";
import { parseObjectKey, type Storage } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import type { WatchHub } from "../watch-cache/index.ts";
import { ClusterIndex, type ClusterIndexOptions } from "./cluster-index.ts";

export interface ConfigurationIndexOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clustersMax?: number;
  /** See `ClusterIndexOptions`. */
  readonly mayContain?: ClusterIndexOptions<ConfigurationSet>["mayContain"];
}

export class ConfigurationIndex implements ConfigurationSource {
  readonly #index: ClusterIndex<ConfigurationSet>;

  constructor(options: ConfigurationIndexOptions) {
    this.#index = new ClusterIndex({
      ...options,
      collections: configurationResources.map((resource) => ({
        group: configurationGroup,
        resource,
        identity: "",
      })),
      create: () => new ConfigurationSet(),
      apply: (set, key, entry) => {
        const { resource, name } = parseObjectKey(key);
        const object = entry === undefined ? undefined : decodeObject(entry);
        set.set(resource as ConfigurationResource, name, object);
      },
    });
  }

  get size(): number {
    return this.#index.size;
  }

  peek(cluster: ClusterName): ClusterConfiguration | undefined {
    return this.#index.peek(cluster)?.configuration;
  }

  load(cluster: ClusterName): Promise<ClusterConfiguration> {
    return this.#index.load(cluster).then(({ configuration }) => configuration);
  }
}
