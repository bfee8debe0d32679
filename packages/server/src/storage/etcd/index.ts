export type { RestoredSnapshot, Snapshot } from "./etcd-snapshot.ts";
export { EtcdStorage, type EtcdStorageOptions } from "./etcd-storage.ts";
