/**
 * A store with a bug: the kinds of mistakes that histories are there to find. Now and then it does
 * the wrong thing and goes on as if nothing had happened.
 */
import type {
  CallOptions,
  Change,
  CountOptions,
  Entry,
  ListOptions,
  Page,
  ReadOptions,
  Revision,
  Storage,
  StorageFault,
  StorageKey,
  WatchOptions,
  Write,
} from "@kcp-ts/apiserver/storage";
import { sleep, systemClock } from "@kcp-ts/machinery/base";

export const seededBugs = [
  "lost event",
  "duplicated event",
  "reordered events",
  "event with an older value",
  "wrong previous value",
  "event of another cluster",
  "early progress",
  "stale get",
  "stale list",
  "torn list",
  "lost acknowledged write",
  "forgotten precondition",
] as const;

export type SeededBug = (typeof seededBugs)[number];

/**
 * Every so many chances one is taken; only for the histories' objects, so that the server itself
 * goes on.
 */
const everyNth = 4;
/** How long an event is late that was said to have come. */
const lateMs = 60;

export class SeededBugStorage implements Storage {
  readonly #inner: Storage;
  /** What each key was before, oldest first, for stale answers. */
  readonly #past = new Map<string, Entry[]>();
  #chances = 0;
  /** The bug that it has at present. */
  seededBug: SeededBug | undefined;

  constructor(inner: Storage) {
    this.#inner = inner;
  }

  currentRevision(options: CallOptions): Promise<Revision> {
    return this.#inner.currentRevision(options);
  }

  async get(key: StorageKey, options: ReadOptions): Promise<Entry | undefined> {
    const entry = await this.#inner.get(key, options);
    const older = this.#before(entry);
    return older !== undefined && this.#strikes("stale get", key) ? older : entry;
  }

  async list(prefix: StorageKey, options: ListOptions): Promise<Page> {
    const page = await this.#inner.list(prefix, options);
    if (page.entries.length > 0 && this.#strikes("torn list", prefix)) {
      return { ...page, entries: page.entries.slice(1) };
    }
    const isOld = page.entries.some((entry) => this.#before(entry) !== undefined);
    if (!isOld || !this.#strikes("stale list", prefix)) return page;
    return { ...page, entries: page.entries.map((entry) => this.#before(entry) ?? entry) };
  }

  count(prefix: StorageKey, options: CountOptions): Promise<number> {
    return this.#inner.count(prefix, options);
  }

  async commit(write: Write, options: CallOptions): Promise<Revision> {
    const before = await this.#inner.get(write.key, options);
    if (before !== undefined && isTarget(write.key)) this.#remember(before);
    if (before !== undefined && this.#strikes("lost acknowledged write", write.key)) {
      return this.#inner.currentRevision(options);
    }
    const isForgotten = before !== undefined && write.expected !== before.modifiedAt;
    if (isForgotten && write.expected !== "absent" && this.seededBug === "forgotten precondition") {
      return this.#inner.commit({ ...write, expected: before.modifiedAt }, options);
    }
    return this.#inner.commit(write, options);
  }

  async *watch(
    prefix: StorageKey,
    afterRevision: Revision,
    options: WatchOptions,
  ): AsyncGenerator<Change> {
    let held: Change | undefined;
    for await (const change of this.#inner.watch(prefix, afterRevision, options)) {
      if (change.kind === "progress" || !isTarget(keyOf(change))) {
        yield change;
        continue;
      }
      const key = keyOf(change);
      if (this.#strikes("lost event", key)) continue;
      if (this.#strikes("duplicated event", key)) yield change;
      if (held === undefined && this.#strikes("reordered events", key)) {
        held = change;
        continue;
      }
      if (this.#strikes("early progress", key)) {
        yield { kind: "progress", revision: change.revision };
        await sleep(systemClock, lateMs);
      }
      yield this.#wrong(change);
      if (held !== undefined) yield held;
      held = undefined;
    }
  }

  compact(revision: Revision, options: CallOptions): Promise<void> {
    return this.#inner.compact(revision, options);
  }

  health(): StorageFault | undefined {
    return this.#inner.health();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #wrong(change: Exclude<Change, { kind: "progress" }>): Change {
    const { previous } = change;
    const key = keyOf(change);
    if (change.kind === "delete") {
      const older = this.#before(change.previous);
      if (older === undefined || !this.#strikes("wrong previous value", key)) return change;
      return { ...change, previous: { ...change.previous, value: older.value } };
    }
    if (previous !== undefined && this.#strikes("event with an older value", key)) {
      return { ...change, entry: { ...change.entry, value: previous.value } };
    }
    if (this.#strikes("event of another cluster", key)) {
      const other = key.includes("/one/")
        ? key.replace("/one/", "/two/")
        : key.replace("/two/", "/one/");
      return { ...change, entry: { ...change.entry, key: other as StorageKey } };
    }
    return change;
  }

  #remember(entry: Entry): void {
    const past = this.#past.get(entry.key);
    if (past === undefined) this.#past.set(entry.key, [entry]);
    else past.push(entry);
  }

  #before(entry: Entry | undefined): Entry | undefined {
    if (entry === undefined) return undefined;
    return this.#past.get(entry.key)?.findLast(({ modifiedAt }) => modifiedAt < entry.modifiedAt);
  }

  #strikes(seededBug: SeededBug, key: string): boolean {
    return seededBug === this.seededBug && isTarget(key) && ++this.#chances % everyNth === 0;
  }
}

function isTarget(key: string): boolean {
  return /\/(?:configmaps|widgets)\//.test(key) && !key.includes("/root/");
}

function keyOf(change: Exclude<Change, { kind: "progress" }>): StorageKey {
  return change.kind === "put" ? change.entry.key : change.previous.key;
}
