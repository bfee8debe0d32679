/** Records of objects of this shard, and of others by their replicas. */
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Replicas } from "../replicas/index.ts";
import type { ObjectIndex } from "./object-index.ts";

export type RecordSource<Known> = Pick<ObjectIndex<Known>, "get">;

/** The own index alone where there is one shard. */
export function sharedRecords<Known>(
  own: RecordSource<Known>,
  replicas: Replicas | undefined,
  definition: ResourceDefinition,
  read: (object: JsonObject) => Known,
): RecordSource<Known> {
  if (replicas === undefined) return own;
  const recordElsewhere = async (key: StorageKey) => {
    const { cluster, name } = parseObjectKey(key);
    try {
      const entry = await replicas.get(definition, cluster, name);
      return entry && read(decodeObject(entry));
    } catch (error) {
      // A shard has a copy of root's built-in types from its first start on.
      const copy = cluster === rootCluster ? await own.get(key) : undefined;
      if (copy === undefined || !isStatusError(error, "ServiceUnavailable")) throw error;
      return copy;
    }
  };
  return {
    get(key) {
      const { cluster } = parseObjectKey(key);
      if (replicas.shardOf(cluster) === undefined) return own.get(key);
      return recordElsewhere(key);
    },
  };
}
