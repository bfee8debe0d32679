/**
 * Reads objects: consistently, at a revision, in pages, from memory where it pays and from storage
 * where it does not.
 */
import { type Clock, yieldToEventLoop } from "@kcp-ts/machinery/base";
import { eventLoopLimits } from "../event-loop/index.ts";
import {
  type Entry,
  isStorageError,
  type Revision,
  type Storage,
  StorageError,
  type StorageKey,
} from "../storage/index.ts";
import type { CachedQuery, CollectionCache } from "./collection-cache.ts";
import type { Selection } from "./hub-event.ts";
import type { WatchHub } from "./watch-hub.ts";

export interface ListQuery {
  /** The prefix of the list: a resource, a cluster's part of it, a namespace's, or one object. */
  readonly prefix: StorageKey;
  /** The cluster's part, when the list is within one cluster: the unit of the cache. */
  readonly collection: StorageKey | undefined;
  readonly selection: Selection | undefined;
  /** The ending of the keys of all selected objects. */
  readonly keyEnding?: string | undefined;
  /** 0: no limit. */
  readonly limit: number;
  readonly continueAfter?: StorageKey | undefined;
  /** The number of entries behind `continueAfter`, when the page before this one said it. */
  readonly remaining?: number | undefined;
  readonly freshness: Freshness;
  readonly signal: AbortSignal;
}

/**
 * - `latest`: everything acknowledged before the request.
 * - `any`: any available state.
 * - `notOlder`: at least `revision`. `exact`: precisely `revision`.
 */
export type Freshness =
  | { readonly kind: "latest" | "any" }
  | { readonly kind: "notOlder" | "exact"; readonly revision: Revision };

export interface ListResult {
  readonly revision: Revision;
  readonly entries: readonly Entry[] | AsyncIterable<readonly Entry[]>;
  /** The last key of this page, when more entries follow. */
  readonly continueAfter: StorageKey | undefined;
  /** The number of entries after this page; undefined with a selector, or when none follow. */
  readonly remaining: number | undefined;
}

export interface ObjectReaderOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly collections: CollectionCache;
  readonly clock: Clock;
  /** Called repeatedly during a read of all clusters, which leaves much garbage behind. */
  readonly collectGarbage?: (() => void) | undefined;
  /** Called for every list that is answered from memory. */
  readonly onCachedList: (collection: StorageKey) => void;
}

/** A page that others follow. */
type PageStart = { readonly revision: Revision; readonly entries: readonly Entry[] };

/** A list within one cluster. */
type CollectionQuery = ListQuery & { readonly collection: StorageKey };

/** The bytes of a read of all clusters between two calls of `collectGarbage`. */
const tidyAfterBytes = 256 << 10;

const pageEntries = 500;
/**
 * A list without a limit is read in pages of about this size: its reader may take any time over
 * each.
 */
const pageBytes = 1 << 20;
/** The page size while the size of objects is unknown. */
const firstPageEntries = 32;
/** The page size over all clusters, which controllers read without hurry: less is held at once. */
const wildcardPageEntries = 100;
/** The time that a read waits for a revision that another server may have returned. */
const futureWaitMs = 3_000;
/** The time that a read waits for the feed before it reads from storage. */
const progressWaitMs = 200;

export class ObjectReader {
  readonly #options: ObjectReaderOptions;
  #bytesSinceCollection = 0;

  constructor(options: ObjectReaderOptions) {
    this.#options = options;
  }

  async get(
    key: StorageKey,
    freshness: Freshness,
    signal: AbortSignal,
  ): Promise<Entry | undefined> {
    if (freshness.kind === "notOlder" || freshness.kind === "exact")
      await this.#waitUntilFresh(freshness, signal);
    return this.#options.storage.get(key, { signal });
  }

  async list(query: ListQuery): Promise<ListResult> {
    const { freshness, collection, signal } = query;
    const isCaughtUp = await this.#waitUntilFresh(freshness, signal);
    if (collection !== undefined && isCaughtUp) {
      const cached = await this.#listCached({ ...query, collection });
      if (cached !== undefined) {
        this.#options.onCachedList(collection);
        return cached;
      }
    }
    return this.#listStored(query, freshness.kind === "exact" ? freshness.revision : undefined);
  }

  /** The list from memory, if its entries are there or fit. */
  async #listCached(query: CollectionQuery): Promise<ListResult | undefined> {
    const { hub, collections } = this.#options;
    const { selection, limit, freshness, signal } = query;
    const isPage = selection === undefined && limit > 0;
    const atRevision = freshness.kind === "exact" ? freshness.revision : undefined;
    const wanted: CachedQuery = {
      collection: query.collection,
      prefix: query.prefix,
      after: query.continueAfter,
      countMax: isPage ? limit + 1 : undefined,
      atRevision,
      lookups: selection?.lookups,
    };
    const found = collections.find(wanted) ?? (await collections.load(wanted, signal));
    if (found === undefined) return undefined;
    const revision = atRevision ?? hub.revision;
    const whole = { revision, continueAfter: undefined, remaining: undefined };
    if (selection !== undefined) {
      const { found: entries, isMore } = await select(found, selection, query);
      if (!isMore) return { ...whole, entries };
      return { ...whole, entries, continueAfter: entries.at(-1)?.key };
    }
    if (!isPage || found.length <= limit) return { ...whole, entries: found };
    const entries = found.slice(0, limit);
    const continueAfter = (entries.at(-1) as Entry).key;
    const resident = collections.residentCount(wanted, continueAfter);
    const page = { revision, entries, continueAfter };
    return { ...page, remaining: resident ?? (await this.#remainingAfter(query, page)) };
  }

  /**
   * The number of entries after a page. Pages say it to each other, and the first one asks the
   * counts, which may be newer than the page by the writes in between: clients use it as an
   * estimate. Undefined when the revision was compacted since the page was read.
   */
  async #remainingAfter(query: ListQuery, page: PageStart): Promise<number | undefined> {
    const { remaining } = query;
    if (remaining !== undefined) return Math.max(1, remaining - page.entries.length);
    try {
      return await this.#countAfter(query, page);
    } catch (error) {
      if (isStorageError(error, "compacted")) return undefined;
      throw error;
    }
  }

  async #countAfter(
    { prefix, continueAfter, signal }: ListQuery,
    { entries, revision: atRevision }: PageStart,
  ): Promise<number> {
    const { storage, collections } = this.#options;
    if (continueAfter === undefined) {
      await collections.counts.track(prefix, signal);
      const count = collections.counts.peek(prefix);
      if (count !== undefined) return Math.max(1, count - entries.length);
    }
    return storage.count(prefix, { signal, continueAfter: entries.at(-1)?.key, atRevision });
  }

  /**
   * Waits until the hub has the revision that this freshness requires. False when the hub is behind
   * without progress: then the reader asks storage, which is always current. Throws `future` when
   * the revision does not arrive.
   */
  async waitUntilFresh(freshness: Freshness, signal: AbortSignal): Promise<void> {
    await this.#waitUntilFresh(freshness, signal);
  }

  async #waitUntilFresh(freshness: Freshness, signal: AbortSignal): Promise<boolean> {
    const { storage, hub } = this.#options;
    if (freshness.kind === "any") return true;
    if (!("revision" in freshness)) {
      const current = await storage.currentRevision({ signal });
      return hub.revision >= current || this.#waitForRevision(current, progressWaitMs, signal);
    }
    const { revision } = freshness;
    if (hub.revision >= revision) return true;
    const current = await storage.currentRevision({ signal });
    if (current >= revision) return this.#waitForRevision(revision, progressWaitMs, signal);
    if (await this.#waitForRevision(revision, futureWaitMs, signal)) return true;
    const newest = await storage.currentRevision({ signal });
    if (newest >= revision) return false;
    throw new StorageError("future", `revision ${revision} has not happened yet`, {
      current: newest,
    });
  }

  /** Whether the hub reached a revision within the time. */
  async #waitForRevision(
    revision: Revision,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { hub, clock } = this.#options;
    const waiting = new AbortController();
    const stop = () => waiting.abort();
    const timer = clock.schedule(waitMs, stop);
    signal.addEventListener("abort", stop, { once: true });
    try {
      await hub.waitUntilSeen(revision, waiting.signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!waiting.signal.aborted) throw error;
      return false;
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", stop);
    }
  }

  async #listStored(query: ListQuery, atRevision: Revision | undefined): Promise<ListResult> {
    const { storage } = this.#options;
    const { prefix, signal, selection, limit } = query;
    const pageMax = query.collection === undefined ? wildcardPageEntries : pageEntries;
    const wanted = limit === 0 ? Number.POSITIVE_INFINITY : limit;
    const found: Entry[] = [];
    let continueAfter = query.continueAfter;
    let revision = atRevision;
    for (;;) {
      const entriesMax =
        limit === 0
          ? Math.min(firstPageEntries, pageMax)
          : selection === undefined
            ? Math.min(wanted - found.length, pageMax)
            : pageMax;
      const page = await storage.list(prefix, {
        signal,
        entriesMax,
        continueAfter,
        atRevision: revision,
        keyEnding: query.keyEnding,
      });
      revision = page.revision;
      this.#noteRead(query, page.entries);
      const pace = new MatchYield();
      for (const [i, entry] of page.entries.entries()) {
        if (selection !== undefined && pace.shouldYield(entry)) await yieldToEventLoop();
        if (selection !== undefined && !selection.matches(entry)) continue;
        found.push(entry);
        if (found.length < wanted) continue;
        const isLast = i === page.entries.length - 1 && !page.more;
        if (isLast)
          return { revision, entries: found, continueAfter: undefined, remaining: undefined };
        const result = { revision, entries: found, continueAfter: entry.key };
        if (selection !== undefined) return { ...result, remaining: undefined };
        return { ...result, remaining: await this.#remainingAfter(query, result) };
      }
      if (!page.more)
        return { revision, entries: found, continueAfter: undefined, remaining: undefined };
      continueAfter = page.entries.at(-1)?.key;
      if (limit === 0) {
        const entriesNext = pageEntriesAfter(page.entries, pageMax);
        const last = { after: continueAfter as StorageKey, entriesNext };
        const rest = this.#stream(query, found, last, revision);
        return { revision, entries: rest, continueAfter: undefined, remaining: undefined };
      }
    }
  }

  #noteRead({ collection }: ListQuery, entries: readonly Entry[]): void {
    const { collectGarbage } = this.#options;
    if (collectGarbage === undefined || collection !== undefined) return;
    for (const { value } of entries) this.#bytesSinceCollection += value.length;
    if (this.#bytesSinceCollection < tidyAfterBytes) return;
    this.#bytesSinceCollection = 0;
    collectGarbage();
  }

  /** The rest of an unlimited list, page by page, so that it is never held as a whole. */
  async *#stream(
    query: ListQuery,
    first: readonly Entry[],
    last: { readonly after: StorageKey; readonly entriesNext: number },
    atRevision: Revision,
  ): AsyncGenerator<readonly Entry[]> {
    const { prefix, signal, selection } = query;
    const pageMax = query.collection === undefined ? wildcardPageEntries : pageEntries;
    yield first;
    let entriesMax = last.entriesNext;
    for (let continueAfter: StorageKey | undefined = last.after; continueAfter !== undefined; ) {
      const page = await this.#options.storage.list(prefix, {
        signal,
        entriesMax,
        continueAfter,
        atRevision,
        keyEnding: query.keyEnding,
      });
      this.#noteRead(query, page.entries);
      entriesMax = pageEntriesAfter(page.entries, pageMax);
      yield selection === undefined ? page.entries : await selected(page.entries, selection);
      continueAfter = page.more ? page.entries.at(-1)?.key : undefined;
    }
  }
}

/** Assumes objects of the size of those before: a page of large objects has few. */
function pageEntriesAfter(entries: readonly Entry[], pageMax: number): number {
  const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
  const each = Math.max(1, bytes / Math.max(1, entries.length));
  return Math.max(1, Math.min(pageMax, Math.floor(pageBytes / each)));
}

async function selected(entries: readonly Entry[], { matches }: Selection): Promise<Entry[]> {
  const found: Entry[] = [];
  const pace = new MatchYield();
  for (const entry of entries) {
    if (pace.shouldYield(entry)) await yieldToEventLoop();
    if (matches(entry)) found.push(entry);
  }
  return found;
}

/**
 * The objects that are matched in one turn of the event loop: some hundred microseconds for labels,
 * and some milliseconds when objects have to be decoded.
 */
const { objectsPerTurn, bytesPerTurn } = eventLoopLimits.matched;

class MatchYield {
  #entries = 0;
  #bytes = 0;

  /** Whether to yield to the event loop before this object is matched. */
  shouldYield({ value }: Entry): boolean {
    const isFull = this.#entries === objectsPerTurn || this.#bytes >= bytesPerTurn;
    if (isFull) {
      this.#entries = 0;
      this.#bytes = 0;
    }
    this.#entries++;
    this.#bytes += value.length;
    return isFull;
  }
}

/** The selected entries of a snapshot, up to the limit; yields to the event loop in between. */
async function select(
  entries: readonly Entry[],
  { matches }: Selection,
  { limit, signal }: ListQuery,
): Promise<{ found: Entry[]; isMore: boolean }> {
  const found: Entry[] = [];
  const pace = new MatchYield();
  for (const entry of entries) {
    if (pace.shouldYield(entry)) {
      await yieldToEventLoop();
      signal.throwIfAborted();
    }
    if (!matches(entry)) continue;
    if (limit > 0 && found.length === limit) return { found, isMore: true };
    found.push(entry);
  }
  return { found, isMore: false };
}
