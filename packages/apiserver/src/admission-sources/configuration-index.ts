/** The admission configuration of each logical cluster. */
import {
  type ConfigurationResource,
  ConfigurationSet,
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

export function configurationIndex(
  options: ConfigurationIndexOptions,
): ClusterIndex<ConfigurationSet> {
  return new ClusterIndex({
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
