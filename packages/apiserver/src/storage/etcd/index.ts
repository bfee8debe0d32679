export type { TlsOptions as EtcdTlsOptions } from "../../grpc/index.ts";
export type { RestoredSnapshot } from "./etcd-snapshot.ts";
export { EtcdStorage, type EtcdStorageOptions } from "./etcd-storage.ts";
