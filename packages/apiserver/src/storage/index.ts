export { isStorageError, StorageError } from "./errors.ts";
export {
  clusterOfKey,
  clusterPrefix,
  keyEnding,
  keyInCluster,
  namespacePrefix,
  type ObjectKey,
  objectKey,
  parseCollectionKey,
  parseObjectKey,
  type ResourceKey,
  resourcePrefix,
  type StorageKey,
} from "./key.ts";
export { exportChanges, exportState, storedResources } from "./moves/cluster-export.ts";
export type {
  AnnounceOptions,
  ClusterMoves,
  ExportRecord,
  MovePhase,
  MoveRecord,
} from "./moves/cluster-moves.ts";
export { clusterUnder } from "./moves/move-table.ts";
export { type Revision, revisionZero, toRevision } from "./revision.ts";
export type { OpenSnapshot, Snapshot, SnapshotSource, SnapshotTarget } from "./snapshot.ts";
export type {
  CallOptions,
  Change,
  CountOptions,
  Entry,
  ListOptions,
  Page,
  PersistentHistory,
  ReadOptions,
  RevisionSample,
  Storage,
  StorageFault,
  WatchOptions,
  Write,
} from "./storage.ts";
