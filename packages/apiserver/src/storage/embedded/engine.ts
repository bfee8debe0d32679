/**
 * What the embedded store asks of an ordered key-value engine on disk.
 *
 * Small on purpose: tests put faults between the store and LevelDB by wrapping it. Keys are ASCII strings in
 * bytewise order, values are bytes. An engine knows nothing of revisions.
 */
export interface Engine extends EngineView {
  /**
   * For keys that are likely in memory, or likely absent and ruled out by a filter: it holds up the process.
   */
  getSync(key: string): Buffer | undefined;

  /** The state of this moment, whatever is written later. It must be closed. */
  snapshot(): EngineSnapshot;

  /**
   * Applies all operations or none, and resolves when they would survive a power cut. After a rejection
   * nobody knows which, and the engine must not be written to again: LevelDB may have left half a record in
   * its log, and what follows such a record is lost when the log is replayed.
   *
   * No value may be empty: classic-level does not free its copy of an empty one.
   */
  write(operations: readonly EngineOperation[]): Promise<void>;

  /**
   * Puts the newest writes where the others are, unless they are few: they are held in memory until then, and in a log that is replayed
   * when the engine is opened. Writes go on meanwhile, and tell if it failed.
   */
  flush(): Promise<void>;

  /** Waits for what runs and lets go of the files. */
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
  /** The first key that may be in it. */
  readonly from: string;
  /** The first key that is behind it. */
  readonly to: string;
  readonly reverse?: boolean;
  /** Leaves the values out: they come as empty buffers. */
  readonly keysOnly?: boolean;
}

export type EngineOperation =
  | { readonly type: "put"; readonly key: string; readonly value: Buffer }
  | { readonly type: "del"; readonly key: string };

/** Where an engine lives: it can be opened there, closed, and opened again. */
export interface EngineLocation {
  /** For messages: the directory. */
  readonly name: string;

  /**
   * Throws a `StorageError` that says what to do: `corrupt`, or `unavailable` when somebody else has it open.
   */
  open(): Promise<Engine>;

  /** Throws when opening would fail for want of space or of permission to write; changes nothing. */
  probe(): Promise<void>;
}

/** About how many bytes a cursor hands over at once: what fits in well under a millisecond of this thread. */
export const sliceBytes = 256 << 10;
