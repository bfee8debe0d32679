/** Replicas of objects of other shards, and questions to these shards. */
export { followReplicas } from "./follow-replicas.ts";
export { listEntries } from "./list-entries.ts";
export type { OtherShards, ShardQuestion } from "./other-shards.ts";
export { RemoteAccess } from "./remote-access.ts";
export { asOriginal, originalKey, replicaCollection, replicaPrefix } from "./replica-key.ts";
export { replicaStateOf } from "./replica-store.ts";
export { Replicas, type ReplicasOptions } from "./replicas.ts";
export { contentHashOf } from "./schema-contents.ts";
export { SharedPolicies } from "./shared-policies.ts";
