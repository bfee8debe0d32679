/**
 * Storage: ordered keys, one revision counter, compare-and-swap writes, a replayable change feed.
 *
 * Everything above is written against this interface; everything below (memory/, embedded/, etcd/)
 * must pass contract/storage-contract.ts. A backend knows bytes and revisions, not objects.
 */
import type { StorageKey } from "./key.ts";
import type { Revision } from "./revision.ts";

export interface Storage {
  /** The newest revision. A read at it sees every write that was acknowledged before this call. */
  currentRevision(options: CallOptions): Promise<Revision>;

  /** Reads one key as of `atRevision`, or the newest acknowledged state when omitted. */
  get(key: StorageKey, options: ReadOptions): Promise<Entry | undefined>;

  /**
   * The newest acknowledged state of a key when it is at hand without waiting. Undefined says nothing: ask `get`. Backends that
   * must ask elsewhere do not have it.
   */
  peek?(key: StorageKey): Entry | undefined;

  /**
   * Reads the keys under `prefix` in bytewise key order, as of `atRevision` or the newest revision.
   * `page.revision` is the revision that was read: a caller that passes it back as `atRevision` with
   * `continueAfter` never sees half of a later write.
   */
  list(prefix: StorageKey, options: ListOptions): Promise<Page>;

  /** Counts the keys under `prefix`, after `continueAfter` if given, without reading their values. */
  count(prefix: StorageKey, options: CountOptions): Promise<number>;

  /**
   * Applies one write at a new revision and returns that revision once it is durable.
   * Throws `conflict` if the key is not at `expected`: retrying is the caller's decision, because only
   * the caller can rebuild the value. After `unavailable` the outcome is unknown: the write may be seen later.
   */
  commit(write: Write, options: CallOptions): Promise<Revision>;

  /**
   * Yields every change under `prefix` after `afterRevision`, in revision order, without gaps or repeats,
   * and `progress` marks when the backend knows how far it has come. Throws
   * `compacted` when that history is gone and `overrun` when the reader falls behind by more than
   * `bufferedChangesMax`. Ends quietly when the signal aborts.
   */
  watch(prefix: StorageKey, afterRevision: Revision, options: WatchOptions): AsyncIterable<Change>;

  /**
   * Asks that open watches yield a `progress` mark soon that is at least as new as the present. False when none will come:
   * then whoever must know reads instead of waiting. Absent where watches see every revision as it happens.
   */
  requestProgress?(): boolean;

  /**
   * Forgets history at and below `revision`: reads and watches before it throw `compacted` from then on.
   * The newest state stays. A revision that is already compacted is not an error.
   */
  compact(revision: Revision, options: CallOptions): Promise<void>;

  /** Absent where history ends with the process, or is not ours alone to keep. */
  readonly history?: PersistentHistory;

  /**
   * Lets go of memory that only makes things faster and that nobody used between the last two calls. Called now and then by the
   * owner's one timer; whatever is forgotten comes from where it is kept.
   */
  tidy?(): void;

  /**
   * For quiet times: lets go of all memory that makes nothing faster but what follows at once, as changes for watches that come back and
   * writes that are on disk only in the order in which they came. Resolves when that is done; what is wrong with the disk, writes will tell.
   */
  settle?(): Promise<void>;

  /** What is wrong with this store, or undefined while it takes reads and writes. */
  health(): StorageFault | undefined;

  /** Ends all watches, finishes writes in flight and lets go of files and sockets. Idempotent. */
  close(): Promise<void>;
}

/** History that outlives the process, and what is to be known of its age. */
export interface PersistentHistory {
  /** About what it takes. */
  bytes(): number;
  /** The marks that were kept last; none in a store that never had any. */
  marks(options: CallOptions): Promise<readonly RevisionSample[]>;
  /** Keeps these in place of those that were kept before. */
  keepMarks(marks: readonly RevisionSample[], options: CallOptions): Promise<void>;
}

/** At that time this revision was the newest. */
export interface RevisionSample {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly revision: Revision;
  /** Bytes of changes up to it; only differences mean anything. */
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
  /** At most this many entries come back; `page.more` says whether others follow. */
  readonly entriesMax: number;
  /** Starts behind this key, which need not exist any more. */
  readonly continueAfter?: StorageKey | undefined;
  /** Also values that are no objects, which a `CheckedStorage` leaves out. Backends know bytes and heed it not. */
  readonly withDamaged?: boolean | undefined;
}

export interface WatchOptions extends CallOptions {
  /** A reader further behind than this is ended with `overrun` rather than allowed to hold memory. */
  readonly bufferedChangesMax: number;
}

export interface Write {
  readonly key: StorageKey;
  readonly value: Uint8Array | "delete";
  /** The revision the key was last modified at, or "absent" when it must not exist. */
  readonly expected: Revision | "absent";
}

export interface Entry {
  readonly key: StorageKey;
  /** Never written to after it was handed out. */
  readonly value: Uint8Array;
  readonly createdAt: Revision;
  readonly modifiedAt: Revision;
}

export interface Page {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
  readonly more: boolean;
}

export type Change =
  | {
      readonly kind: "put";
      readonly entry: Entry;
      readonly previous: Entry | undefined;
      readonly revision: Revision;
    }
  | { readonly kind: "delete"; readonly previous: Entry; readonly revision: Revision }
  | { readonly kind: "progress"; readonly revision: Revision };

export interface StorageFault {
  /** One line for `/readyz?verbose` and the log: what fails and what to do. */
  readonly message: string;
}
