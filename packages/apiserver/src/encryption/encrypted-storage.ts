/**
 * A store that encrypts the values of chosen resources on their way to the backend, and decrypts
 * them on the way back. Snapshots are the backend's own: a backup has encrypted values encrypted.
 *
 * A value that no key opens is returned as it is stored: it is no stored object, so lists leave it
 * out, a get fails, and it is reported as damaged values are.
 */
import { createSecretKey, type KeyObject } from "node:crypto";
import {
  type CallOptions,
  type Change,
  type CountOptions,
  type Entry,
  isStorageError,
  type ListOptions,
  type Page,
  parseCollectionKey,
  type ReadOptions,
  type Revision,
  type SnapshotSource,
  type SnapshotTarget,
  type Storage,
  type StorageFault,
  type StorageKey,
  type WatchOptions,
  type Write,
} from "../storage/index.ts";
import {
  decryptBody,
  type EncryptedParts,
  encryptValue,
  nonceOf,
  partsOf,
  prefixOf,
} from "./encrypted-value.ts";
import { type EncryptionRule, prefixesOf, ruleFor } from "./encryption-config.ts";
import type { KeySource } from "./key-source.ts";

/** How values of a resource are written. */
interface Writer {
  readonly source: KeySource;
  /** Of a source whose key another program rotates. */
  readonly keyId: string | undefined;
  readonly header: Buffer;
  readonly prefix: Buffer;
  readonly key: KeyObject;
  nonce: number;
  /** What it encrypted last, by nonce: the backend's feed returns each write at once. */
  readonly recent: RecentWrites;
}

/** Each start of a server makes a data key; a store with more than these opens keys again. */
const openKeysMax = 10_000;
const rewritePageEntries = 200;
const recentBytesMax = 1 << 20;

export class EncryptedStorage implements Storage {
  readonly #inner: Storage & Partial<SnapshotSource & SnapshotTarget>;
  readonly #rules: readonly EncryptionRule[];
  readonly #sources: ReadonlyMap<string, KeySource>;
  readonly #writers: Map<EncryptionRule, Writer>;
  readonly #closing = new AbortController();
  readonly #onUnreadable: (key: StorageKey, error: unknown) => void;
  /** Undefined: the resource is not encrypted. */
  readonly #ruleByCollection = new Map<string, EncryptionRule | undefined>();
  /** By source and header. */
  readonly #openKeys = new Map<string, Buffer>();
  readonly peek?: NonNullable<Storage["peek"]>;
  readonly requestProgress?: NonNullable<Storage["requestProgress"]>;
  readonly evictUnused?: NonNullable<Storage["evictUnused"]>;
  readonly releaseMemory?: NonNullable<Storage["releaseMemory"]>;
  readonly history?: NonNullable<Storage["history"]>;
  readonly openSnapshot?: SnapshotSource["openSnapshot"];
  readonly storedChanges?: NonNullable<SnapshotSource["storedChanges"]>;
  readonly restoreSnapshot?: SnapshotTarget["restoreSnapshot"];
  /** Of etcd, whose revisions are its own. */
  readonly restore?: (entries: AsyncIterable<Entry>, options: CallOptions) => Promise<unknown>;

  static async open(
    inner: Storage,
    rules: readonly EncryptionRule[],
    onUnreadable: (key: StorageKey, error: unknown) => void,
  ): Promise<EncryptedStorage> {
    const writers = new Map<EncryptionRule, Writer>();
    for (const rule of rules) {
      const [first] = rule.providers;
      if (first === undefined || first === "identity") continue;
      writers.set(rule, await writerOf(first));
    }
    return new EncryptedStorage(inner, rules, writers, onUnreadable);
  }

  private constructor(
    inner: Storage & Partial<SnapshotSource & SnapshotTarget>,
    rules: readonly EncryptionRule[],
    writers: Map<EncryptionRule, Writer>,
    onUnreadable: (key: StorageKey, error: unknown) => void,
  ) {
    this.#inner = inner;
    this.#rules = rules;
    this.#writers = writers;
    this.#onUnreadable = onUnreadable;
    const sources = rules.flatMap(({ providers }) => providers.filter((one) => one !== "identity"));
    this.#sources = new Map(sources.map((source) => [source.name, source]));
    if (inner.peek !== undefined) this.peek = (key) => this.#peek(key);
    if (inner.requestProgress !== undefined)
      this.requestProgress = inner.requestProgress.bind(inner);
    if (inner.evictUnused !== undefined) this.evictUnused = inner.evictUnused.bind(inner);
    if (inner.releaseMemory !== undefined) this.releaseMemory = inner.releaseMemory.bind(inner);
    if (inner.history !== undefined) this.history = inner.history;
    if (inner.openSnapshot !== undefined) this.openSnapshot = inner.openSnapshot.bind(inner);
    if (inner.storedChanges !== undefined) this.storedChanges = inner.storedChanges.bind(inner);
    const { restore } = inner as { readonly restore?: EncryptedStorage["restore"] };
    if (restore !== undefined) this.restore = restore.bind(inner);
    if (inner.restoreSnapshot !== undefined)
      this.restoreSnapshot = inner.restoreSnapshot.bind(inner);
  }

  currentRevision(options: CallOptions): Promise<Revision> {
    return this.#inner.currentRevision(options);
  }

  async get(key: StorageKey, options: ReadOptions): Promise<Entry | undefined> {
    const entry = await this.#inner.get(key, options);
    return entry === undefined || this.#isPlain(entry) ? entry : await this.#opened(entry);
  }

  async list(prefix: StorageKey, options: ListOptions): Promise<Page> {
    const page = await this.#inner.list(prefix, options);
    if (page.entries.every((entry) => this.#isPlain(entry))) return page;
    const entries: Entry[] = [];
    for (const entry of page.entries) entries.push(await this.#opened(entry));
    return { ...page, entries };
  }

  count(prefix: StorageKey, options: CountOptions): Promise<number> {
    return this.#inner.count(prefix, options);
  }

  commit(write: Write, options: CallOptions): Promise<Revision> {
    const { key, value } = write;
    const writer = value === "delete" ? undefined : this.#writerOf(key);
    if (value === "delete" || writer === undefined) return this.#inner.commit(write, options);
    writer.nonce++;
    writer.recent.add(writer.nonce, key, value);
    return this.#inner.commit({ ...write, value: encryptValue(writer, key, value) }, options);
  }

  watch(prefix: StorageKey, afterRevision: Revision, options: WatchOptions): AsyncIterable<Change> {
    const changes = this.#inner.watch(prefix, afterRevision, options);
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = changes[Symbol.asyncIterator]();
        const opened = (result: IteratorResult<Change>) => {
          if (result.done === true || this.#isPlainChange(result.value)) return result;
          const known = this.#knownChange(result.value);
          if (known !== undefined) return { done: false as const, value: known };
          return this.#openedChange(result.value).then((value) => ({
            done: false as const,
            value,
          }));
        };
        return {
          next: () => iterator.next().then(opened),
          return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
        };
      },
    };
  }

  compact(revision: Revision, options: CallOptions): Promise<void> {
    return this.#inner.compact(revision, options);
  }

  health(): StorageFault | undefined {
    return this.#inner.health();
  }

  /** Aborts when the store is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  close(): Promise<void> {
    this.#closing.abort();
    return this.#inner.close();
  }

  /**
   * Writes again what another key than the first one wrote, or none: after a rotation the old key
   * is then not needed any more. Resolves with the number of rewritten values.
   */
  async rewriteStale(): Promise<number> {
    const { signal } = this.#closing;
    let count = 0;
    for (const prefix of prefixesOf(this.#rules)) {
      let continueAfter: StorageKey | undefined;
      do {
        const options = { signal, entriesMax: rewritePageEntries, continueAfter };
        const { entries, more } = await this.#inner.list(prefix, options);
        for (const entry of entries) if (await this.#rewrite(entry, signal)) count++;
        continueAfter = more ? entries.at(-1)?.key : undefined;
      } while (continueAfter !== undefined && !signal.aborted);
    }
    return count;
  }

  /** Whether another program rotates a key of this store. */
  get hasRotatedKeys(): boolean {
    return [...this.#writers.values()].some(({ source }) => source.currentKeyId !== undefined);
  }

  /**
   * Asks the services for the keys that they encrypt with now. A new key wraps a new data key, and
   * encrypts what is written from then on. Resolves with whether there is one.
   */
  async followKeys(): Promise<boolean> {
    let isChanged = false;
    for (const [rule, { source, keyId: known }] of this.#writers) {
      if (source.currentKeyId === undefined || (await source.currentKeyId()) === known) continue;
      this.#writers.set(rule, await writerOf(source));
      isChanged = true;
    }
    return isChanged;
  }

  async #rewrite(entry: Entry, signal: AbortSignal): Promise<boolean> {
    const { key, modifiedAt: expected } = entry;
    const rule = this.#ruleOf(key);
    if (rule === undefined || isCurrent(partsOf(entry.value), this.#writers.get(rule)))
      return false;
    const { value } = await this.#opened(entry);
    // No key opens it: it stays as it is.
    if (partsOf(value) !== undefined) return false;
    try {
      await this.commit({ key, value, expected }, { signal });
      return true;
    } catch (error) {
      // Another write came first, and was encrypted by the first key.
      if (isStorageError(error, "conflict")) return false;
      throw error;
    }
  }

  #peek(key: StorageKey): Entry | undefined {
    const entry = this.#inner.peek?.(key);
    return entry && this.#known(entry);
  }

  /** The entry when it needs no key that is opened first. */
  #known(entry: Entry): Entry | undefined {
    const parts = partsOf(entry.value);
    if (parts === undefined) return entry;
    const recent = this.#recent(entry, parts);
    if (recent !== undefined) return { ...entry, value: recent };
    const known = this.#openKeys.get(keyId(parts));
    return known && this.#decrypted(entry, known, parts.body);
  }

  #recent({ key }: Entry, { name, header, body }: EncryptedParts): Uint8Array | undefined {
    const writer = this.#writerOf(key);
    if (writer?.source.name !== name || !writer.header.equals(header)) return undefined;
    return writer.recent.get(nonceOf(body), key);
  }

  #knownChange(change: Change): Change | undefined {
    if (change.kind === "progress") return change;
    const previous = change.previous && this.#known(change.previous);
    if ((previous === undefined) !== (change.previous === undefined)) return undefined;
    if (change.kind === "delete") return previous && { ...change, previous };
    const entry = this.#known(change.entry);
    return entry && { ...change, entry, previous };
  }

  #isPlain({ value }: Entry): boolean {
    return partsOf(value) === undefined;
  }

  #isPlainChange(change: Change): boolean {
    if (change.kind === "progress") return true;
    const isPlain = change.previous === undefined || this.#isPlain(change.previous);
    return isPlain && (change.kind === "delete" || this.#isPlain(change.entry));
  }

  async #openedChange(change: Change): Promise<Change> {
    if (change.kind === "progress") return change;
    if (change.kind === "delete")
      return { ...change, previous: await this.#opened(change.previous) };
    const { entry, previous } = change;
    return {
      ...change,
      entry: await this.#opened(entry),
      previous: previous === undefined ? undefined : await this.#opened(previous),
    };
  }

  async #opened(entry: Entry): Promise<Entry> {
    const opened = this.#known(entry);
    if (opened !== undefined) return opened;
    const parts = partsOf(entry.value) as EncryptedParts;
    const id = keyId(parts);
    let key = this.#openKeys.get(id);
    if (key === undefined) {
      try {
        const source = this.#sources.get(parts.name);
        if (source === undefined)
          throw new Error(`the key ${JSON.stringify(parts.name)} is not configured`);
        key = await source.openDataKey(Buffer.from(parts.header));
      } catch (error) {
        this.#onUnreadable(entry.key, error);
        return entry;
      }
      if (this.#openKeys.size >= openKeysMax) this.#openKeys.clear();
      this.#openKeys.set(id, key);
    }
    return this.#decrypted(entry, key, parts.body);
  }

  #decrypted(entry: Entry, key: Buffer, body: Buffer): Entry {
    try {
      return { ...entry, value: decryptBody(key, entry.key, body) };
    } catch (error) {
      this.#onUnreadable(entry.key, error);
      return entry;
    }
  }

  #writerOf(key: StorageKey): Writer | undefined {
    const rule = this.#ruleOf(key);
    return rule === undefined ? undefined : this.#writers.get(rule);
  }

  #ruleOf(key: StorageKey): EncryptionRule | undefined {
    // `/group/resource/`: the resources of a server are few, their objects are not.
    const end = key.indexOf("/", key.indexOf("/", 1) + 1);
    const collection = key.slice(0, end + 1);
    if (this.#ruleByCollection.has(collection)) return this.#ruleByCollection.get(collection);
    const rule = ruleFor(this.#rules, parseCollectionKey(key));
    this.#ruleByCollection.set(collection, rule);
    return rule;
  }
}

async function writerOf(source: KeySource): Promise<Writer> {
  const { header, key } = await source.newDataKey();
  return {
    ...{ source, header, keyId: source.keyIdOf?.(header) },
    ...{ prefix: prefixOf(source.name, header), key: createSecretKey(key) },
    ...{ nonce: 0, recent: new RecentWrites() },
  };
}

/** The newest values of a writer, within a limit of bytes. */
class RecentWrites {
  readonly #values = new Map<number, { readonly key: StorageKey; readonly value: Uint8Array }>();
  #bytes = 0;

  add(nonce: number, key: StorageKey, value: Uint8Array): void {
    this.#values.set(nonce, { key, value });
    this.#bytes += value.length;
    if (this.#bytes <= recentBytesMax) return;
    for (const [oldest, { value: dropped }] of this.#values) {
      this.#values.delete(oldest);
      this.#bytes -= dropped.length;
      if (this.#bytes <= recentBytesMax) return;
    }
  }

  get(nonce: number, key: StorageKey): Uint8Array | undefined {
    const found = this.#values.get(nonce);
    return found?.key === key ? found.value : undefined;
  }
}

/** Whether the value needs no key but the one that writes. */
function isCurrent(stored: EncryptedParts | undefined, writer: Writer | undefined): boolean {
  if (stored === undefined || writer === undefined) return stored === writer;
  const { source, keyId: id } = writer;
  return stored.name === source.name && source.keyIdOf?.(stored.header) === id;
}

function keyId({ name, header }: { readonly name: string; readonly header: Buffer }): string {
  return `${name}\0${header.toString("latin1")}`;
}
