/** Records of objects of this shard, and of others by their replicas. */
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { parseObjectKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { JsonObject } from "@kcp-ts/machinery/json";
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
  return {
    get(key) {
      const { cluster, name } = parseObjectKey(key);
      if (replicas.shardOf(cluster) === undefined) return own.get(key);
      return replicas
        .get(definition, cluster, name)
        .then((entry) => entry && read(decodeObject(entry)));
    },
  };
}
