/**
 * The interface of an ordered key-value engine on disk, for the embedded store.
 *
 * Small on purpose: tests inject faults between the store and LevelDB by wrapping it. Keys are
 * ASCII strings in bytewise order, values are bytes. An engine has no revisions.
 */
export interface Engine extends EngineView {
  /**
   * For keys that are likely in memory, or likely absent and excluded by a filter: it blocks the
   * process.
   */
  getSync(key: string): Buffer | undefined;

  /** The state of this moment, unaffected by later writes. It must be closed. */
  snapshot(): EngineSnapshot;

  /**
   * Applies all operations or none, and resolves when they survive a power cut. After a rejection
   * the outcome is unknown, and the engine must not be written to again: LevelDB may have left half
   * a record in its log, and records after it are lost when the log is replayed.
   *
   * No value may be empty: classic-level leaks its copy of an empty one.
   */
  write(operations: readonly EngineOperation[]): Promise<void>;

  /**
   * Flushes the newest writes to tables, unless they are few: until then they are in memory, and in
   * a log that is replayed when the engine is opened. Writes continue meanwhile, and report a
   * failure.
   */
  flush(): Promise<void>;

  /** Waits for operations in flight and closes the files. */
  close(): Promise<void>;
}

export interface EngineView {
  get(key: string): Promise<Buffer | undefined>;
  getMany(keys: readonly string[]): Promise<(Buffer | undefined)[]>;
  /** A cursor over the state of this moment. It must be closed. */
  scan(range: EngineRange): EngineCursor;
}

export interface EngineSnapshot extends EngineView {
  close(): Promise<void>;
}

export interface EngineCursor {
  /** The next pairs, at most `pairsMax` and about `sliceBytes` of them; none at the end. */
  next(pairsMax: number): Promise<readonly (readonly [string, Buffer])[]>;
  close(): Promise<void>;
}

export interface EngineRange {
  /** The first key of the range. */
  readonly from: string;
  /** The first key after the range. */
  readonly to: string;
  readonly reverse?: boolean;
  /** Omits the values: they are empty buffers. */
  readonly keysOnly?: boolean;
}

export type EngineOperation =
  | { readonly type: "put"; readonly key: string; readonly value: Buffer }
  | { readonly type: "del"; readonly key: string };

/** The location of an engine, which can be opened there, closed, and opened again. */
export interface EngineLocation {
  /** The directory, for messages. */
  readonly name: string;

  /**
   * Throws a `StorageError` with the next step to take: `corrupt`, or `unavailable` when another
   * process has it open.
   */
  open(): Promise<Engine>;

  /** Throws when opening would fail for lack of space or write permission; changes nothing. */
  probe(): Promise<void>;
}

/** The approximate bytes of a cursor's slice: well under a millisecond of this thread. */
export const sliceBytes = 256 << 10;
