/**
 * Backup and restore of a complete store, as entries at one revision. The file format and the
 * commands are not here.
 */
import type { Revision } from "./revision.ts";
import type { CallOptions, Change, Entry, WatchOptions } from "./storage.ts";

/** A store that can be read completely during writes. */
export interface SnapshotSource {
  /** The state at one revision, with every write that was acknowledged before this call. */
  openSnapshot(options: CallOptions): Promise<OpenSnapshot>;
  /**
   * All changes after a revision, as `Storage.watch` yields them, and with values as snapshots have
   * them: encrypted ones stay so. Absent where other programs replicate the store.
   */
  storedChanges?(afterRevision: Revision, options: WatchOptions): AsyncIterable<Change>;
}

export interface OpenSnapshot extends Snapshot {
  /** Releases the resources of the snapshot. Needed also after the entries were read to the end. */
  close(): Promise<void>;
}

/** A store that can be filled from a snapshot. */
export interface SnapshotTarget {
  /**
   * Restores the snapshot into an empty store: its entries with their revisions, and its revision
   * as the current one. History begins there: older revisions are compacted. All or nothing: a
   * store whose restore was interrupted cannot be used. Throws `conflict` when the store is not
   * empty.
   */
  restoreSnapshot(snapshot: Snapshot, options: CallOptions): Promise<void>;
}

export interface Snapshot {
  readonly revision: Revision;
  /** In bytewise key order. Can be read once. */
  readonly entries: AsyncIterable<Entry>;
}
