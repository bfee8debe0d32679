/**
 * Storage: ordered keys, one revision counter, compare-and-swap writes, a replayable change feed.
 *
 * All code above uses this interface; all backends below (memory/, embedded/, etcd/) must pass
 * contract/storage-contract.ts. A backend stores bytes and revisions, not objects.
 */
import type { StorageKey } from "./key.ts";
import type { ClusterMoves } from "./moves/cluster-moves.ts";
import type { Revision } from "./revision.ts";

export interface Storage {
  /** The newest revision. A read at it sees every write that was acknowledged before this call. */
  currentRevision(options: CallOptions): Promise<Revision>;

  /** Reads one key as of `atRevision`, or the newest acknowledged state when omitted. */
  get(key: StorageKey, options: ReadOptions): Promise<Entry | undefined>;

  /**
   * The newest acknowledged state of a key when it is available synchronously. Undefined means
   * unknown: call `get`. Remote backends do not have it.
   */
  peek?(key: StorageKey): Entry | undefined;

  /**
   * Reads the keys under `prefix` in bytewise key order, as of `atRevision` or the newest revision.
   * `page.revision` is the revision that was read: a caller that passes it back as `atRevision`
   * with `continueAfter` never sees half of a later write.
   */
  list(prefix: StorageKey, options: ListOptions): Promise<Page>;

  /**
   * Counts the keys under `prefix`, after `continueAfter` if given, without reading their values.
   */
  count(prefix: StorageKey, options: CountOptions): Promise<number>;

  /**
   * Applies one write at a new revision and returns that revision once it is durable. Throws
   * `conflict` if the key is not at `expected`: retrying is the caller's decision, because only the
   * caller can rebuild the value. After `unavailable` the outcome is unknown: the write may be
   * visible later.
   */
  commit(write: Write, options: CallOptions): Promise<Revision>;

  /**
   * Yields every change under `prefix` after `afterRevision`, in revision order, without gaps or
   * repeats, and `progress` marks when the backend knows its position. Throws `compacted` when that
   * history is gone and `overrun` when the reader falls behind by more than `bufferedChangesMax`.
   * Ends without an error when the signal aborts.
   */
  watch(prefix: StorageKey, afterRevision: Revision, options: WatchOptions): AsyncIterable<Change>;

  /**
   * Requests that open watches soon yield a `progress` mark at least as new as the present. False
   * when none will come: then the caller has to read instead of waiting. Absent where watches see
   * every revision as it happens.
   */
  requestProgress?(): boolean;

  /**
   * Compacts history at and below `revision`: reads and watches before it throw `compacted` from
   * then on. The newest state stays. A revision that is already compacted is not an error.
   */
  compact(revision: Revision, options: CallOptions): Promise<void>;

  /** Absent where history ends with the process, or is shared with other programs. */
  readonly history?: PersistentHistory;

  /** Moves of logical clusters to and from this store; absent where revisions are not its own. */
  readonly moves?: ClusterMoves;

  /**
   * Releases cache memory without a use between the last two calls. Called by the owner's one
   * timer; evicted data is read again from disk or etcd.
   */
  evictUnused?(): void;

  /**
   * For idle times: releases all memory that only speeds up what follows soon, such as changes for
   * reconnecting watches and writes that are on disk only in the log. Resolves when that is done;
   * later writes report errors of the disk.
   */
  releaseMemory?(): Promise<void>;

  /** The fault of this store, or undefined while it serves reads and writes. */
  health(): StorageFault | undefined;

  /** Ends all watches, finishes writes in flight and closes files and sockets. Idempotent. */
  close(): Promise<void>;
}

/** History that outlives the process, with samples of its age. */
export interface PersistentHistory {
  /** The approximate size. */
  bytes(): number;
  /** The samples that were saved last; none in a new store. */
  revisionSamples(options: CallOptions): Promise<readonly RevisionSample[]>;
  /** Replaces the saved samples. */
  saveRevisionSamples(
    revisionSamples: readonly RevisionSample[],
    options: CallOptions,
  ): Promise<void>;
}

/** A revision that was the newest at a given time. */
export interface RevisionSample {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly revision: Revision;
  /** Bytes of changes up to the revision; only differences are meaningful. */
  readonly bytes: number;
}

export interface CallOptions {
  readonly signal: AbortSignal;
}

export interface ReadOptions extends CallOptions {
  readonly atRevision?: Revision | undefined;
}

export interface CountOptions extends CallOptions {
  readonly continueAfter?: StorageKey | undefined;
  readonly atRevision?: Revision | undefined;
}

export interface ListOptions extends ReadOptions {
  /** The maximal number of entries; `page.more` is true when others follow. */
  readonly entriesMax: number;
  /** Starts after this key, which need not exist any more. */
  readonly continueAfter?: StorageKey | undefined;
  /**
   * The caller needs only keys with this ending. A backend may leave out the others, so that it
   * need not read their values.
   */
  readonly keyEnding?: string | undefined;
  /**
   * Includes values that are not objects, which a `CheckedStorage` omits. Backends store bytes and
   * ignore this option.
   */
  readonly includeCorrupt?: boolean | undefined;
}

export interface WatchOptions extends CallOptions {
  /** A reader further behind is ended with `overrun` instead of holding memory. */
  readonly bufferedChangesMax: number;
}

export interface Write {
  readonly key: StorageKey;
  readonly value: Uint8Array | "delete";
  /** The revision of the key's last modification, or "absent" when it must not exist. */
  readonly expected: Revision | "absent";
}

export interface Entry {
  readonly key: StorageKey;
  /** Never modified after it was returned. */
  readonly value: Uint8Array;
  readonly createdAt: Revision;
  readonly modifiedAt: Revision;
}

export interface Page {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
  readonly more: boolean;
}

/**
 * A relocation is no change of the object: its logical cluster arrived from another store with it,
 * or left with it. Only watches of prefixes over several clusters have relocations.
 */
export type Change =
  | {
      readonly kind: "put";
      readonly entry: Entry;
      readonly previous: Entry | undefined;
      readonly revision: Revision;
      readonly relocation?: true;
    }
  | {
      readonly kind: "delete";
      readonly previous: Entry;
      readonly revision: Revision;
      readonly relocation?: true;
    }
  | { readonly kind: "progress"; readonly revision: Revision };

export interface StorageFault {
  /** One line for `/readyz?verbose` and the log: the fault and the next step to take. */
  readonly message: string;
}
