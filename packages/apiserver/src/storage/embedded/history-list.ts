/**
 * Lists and counts keys at a past revision that memory no longer has: a merge of the newest entries
 * and the old versions, both in key order.
 */
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { Entry } from "../storage.ts";
import type { EngineCursor, EngineView } from "./engine.ts";
import { decodeEntry } from "./entry-record.ts";
import { oldEntry } from "./history-reader.ts";
import type { RangeOptions } from "./latest-reader.ts";
import { newestRange, type OldVersion, oldRange, parseNewestKey, parseOldKey } from "./layout.ts";
import type { StoreState } from "./store-state.ts";

/** At most `entriesMax` + 1 entries, so that the caller detects further ones. */
export async function listAt(
  state: StoreState,
  prefix: StorageKey,
  revision: Revision,
  entriesMax: number,
  options: RangeOptions,
): Promise<Entry[]> {
  const view = state.engine.snapshot();
  try {
    const entries: Entry[] = [];
    for await (const found of walk(state, view, prefix, revision, options)) {
      entries.push(
        "isDeletion" in found ? await oldEntry(state, view, found.key, found.revision) : found,
      );
      if (entries.length > entriesMax) break;
    }
    return entries;
  } finally {
    await view.close();
  }
}

export async function countAt(
  state: StoreState,
  prefix: StorageKey,
  revision: Revision,
  options: RangeOptions,
): Promise<number> {
  const view = state.engine.snapshot();
  try {
    let count = 0;
    for await (const _ of walk(state, view, prefix, revision, options)) count++;
    return count;
  } finally {
    await view.close();
  }
}

/**
 * Every key with an entry at the revision: the newest entry if it is that old, or the version of
 * that revision.
 */
async function* walk(
  state: StoreState,
  view: EngineView,
  prefix: StorageKey,
  revision: Revision,
  { signal, continueAfter }: RangeOptions,
): AsyncGenerator<Entry | OldVersion> {
  const newest = new Reader(view.scan(newestRange(prefix, continueAfter)), ([key, record]) =>
    decodeEntry(parseNewestKey(key), record, state.directory),
  );
  const old = new Reader(
    view.scan({ ...oldRange(prefix, continueAfter), keysOnly: true }),
    ([key]) => parseOldKey(key),
  );
  try {
    for (;;) {
      signal.throwIfAborted();
      const entry = await newest.peek();
      let version = await old.peek();
      if (entry === undefined && version === undefined) return;
      const key =
        version === undefined || (entry !== undefined && entry.key < version.key)
          ? entry?.key
          : version.key;
      let atRevision: OldVersion | undefined;
      for (; version !== undefined && version.key === key; version = await old.peek()) {
        if (version.revision <= revision) atRevision = version;
        old.skip();
      }
      if (entry !== undefined && entry.key === key) newest.skip();
      if (key === undefined || state.moves.isHidden(key)) continue;
      if (entry !== undefined && entry.key === key) {
        if (state.moves.versionOf(entry) <= revision) {
          yield entry;
          continue;
        }
      }
      if (atRevision !== undefined && !atRevision.isDeletion) yield atRevision;
    }
  } finally {
    await newest.close();
    await old.close();
  }
}

/** A cursor with one pair of lookahead. */
class Reader<Item> {
  readonly #cursor: EngineCursor;
  readonly #parse: (pair: readonly [string, Buffer]) => Item;
  #slice: readonly (readonly [string, Buffer])[] = [];
  #at = 0;
  #item: Item | undefined;
  #done = false;

  constructor(cursor: EngineCursor, parse: (pair: readonly [string, Buffer]) => Item) {
    this.#cursor = cursor;
    this.#parse = parse;
  }

  async peek(): Promise<Item | undefined> {
    if (this.#item !== undefined || this.#done) return this.#item;
    if (this.#at === this.#slice.length) {
      this.#slice = await this.#cursor.next(pairsPerSlice);
      this.#at = 0;
    }
    const pair = this.#slice[this.#at++];
    if (pair === undefined) this.#done = true;
    else this.#item = this.#parse(pair);
    return this.#item;
  }

  skip(): void {
    this.#item = undefined;
  }

  close(): Promise<void> {
    return this.#cursor.close();
  }
}

const pairsPerSlice = 1000;
