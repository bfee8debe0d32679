/**
 * Backup and restore of a whole store, as entries at one revision. The file format and the commands are not
 * here.
 */
import type { Revision } from "./revision.ts";
import type { CallOptions, Entry } from "./storage.ts";

/** A store that can be read as a whole while writes go on. */
export interface SnapshotSource {
  /** The state at one revision, with every write in it that was acknowledged before this call. */
  openSnapshot(options: CallOptions): Promise<OpenSnapshot>;
}

export interface OpenSnapshot extends Snapshot {
  /** Lets go of what holds the old state. Needed also after the entries were read to the end. */
  close(): Promise<void>;
}

/** A store that can be filled. */
export interface SnapshotTarget {
  /**
   * Makes an empty store hold the snapshot: its entries with their revisions, and its revision as the current
   * one. History begins there: what is older is compacted. All or nothing: a store whose restore was cut
   * short cannot be used. Throws `conflict` when the store is not empty.
   */
  restoreSnapshot(snapshot: Snapshot, options: CallOptions): Promise<void>;
}

export interface Snapshot {
  readonly revision: Revision;
  /** In bytewise key order. Can be read once. */
  readonly entries: AsyncIterable<Entry>;
}
