/**
 * Names of shards, and the shard that the name of a logical cluster carries: a name that was
 * generated for another shard than root ends with that shard's name, so that any shard knows where
 * a logical cluster began without asking.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";

/** The shard that has the logical cluster root. */
export const rootShard = "root";

/** With a generated name in front, the name of a logical cluster stays below 64 characters. */
export const shardNameCharactersMax = 40;

const namePattern = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

export function isShardName(text: string): boolean {
  return text.length <= shardNameCharactersMax && namePattern.test(text) && !text.includes("--");
}

const separator = "--";
/** The length of a generated name without its shard. */
const generatedCharacters = 16;

/** The name on its shard; names of root stay as they are. */
export function nameOnShard(generated: ClusterName, shard: string): ClusterName {
  return shard === rootShard ? generated : (`${generated}${separator}${shard}` as ClusterName);
}

/** The shard on which a logical cluster began; root for names that users choose, and for homes. */
export function firstShardOf(cluster: ClusterName): string {
  if (!cluster.startsWith(separator, generatedCharacters)) return rootShard;
  return cluster.slice(generatedCharacters + separator.length);
}
