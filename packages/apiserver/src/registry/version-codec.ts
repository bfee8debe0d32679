/**
 * Converts between stored and served bytes where they differ: objects that were stored in another
 * version, or under an older schema.
 *
 * Entries are converted right after they were read, and back right before they are stored, so that
 * all code in between handles one version only. A definition without a codec serves what it stores.
 */
import { type Resumable, yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { MaybePromise } from "../request/api-request.ts";
import type { Entry, Revision, StorageKey } from "../storage/index.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

export interface VersionCodec {
  /** Two codecs with the same name convert an entry to the same bytes. */
  readonly name: string;

  /**
   * Converts one entry; returns the identical entry when the stored bytes are right. Absent when
   * the conversion is asynchronous.
   */
  readonly toServedSync: ((entry: Entry) => Entry) | undefined;

  /** The object of an entry as it is served, where that takes less than its bytes. */
  readonly toServedObject?: ((entry: Entry) => JsonObject) | undefined;

  /** `toServedSync` with yields to the event loop, where a conversion parses the object. */
  readonly toServedResumable?: ((entry: Entry) => Resumable<Entry>) | undefined;

  /**
   * Converts many entries; asynchronously where necessary. Returns the identical list when all
   * stored bytes are right.
   */
  toServed(entries: readonly Entry[]): MaybePromise<readonly Entry[]>;

  /**
   * Converts parsed objects as `toServed` converts entries; present where `toServedSync` is not.
   */
  readonly objectsToServed?:
    | ((objects: readonly ParsedObject[]) => Promise<readonly Entry[]>)
    | undefined;

  /** True when objects are stored as they are served: `toStored` need not be called. */
  readonly storesAsServed: boolean;

  /** Converts an object of the definition's version for the store. */
  toStored(object: JsonObject): Promise<JsonObject>;
}

/** A stored object, parsed already. */
export interface ParsedObject {
  readonly key: StorageKey;
  readonly modifiedAt: Revision;
  readonly object: JsonObject;
  /** The length of its text. */
  readonly length: number;
}

/** One entry as a client of the definition gets it. */
export function toServed({ codec }: ResourceDefinition, entry: Entry): MaybePromise<Entry> {
  if (codec === undefined) return entry;
  const entries = codec.toServed([entry]);
  return entries instanceof Promise
    ? entries.then(([only]) => only as Entry)
    : (entries[0] as Entry);
}

/**
 * The limits of entries and bytes per conversion batch; the conversion yields to the event loop
 * between batches.
 */
const batchEntries = 100;
const batchBytes = 256 << 10;
/** More bytes are converted while they are sent. */
const heldBytesMax = 4 << 20;

type Entries = readonly Entry[] | AsyncIterable<readonly Entry[]>;

/**
 * A list's entries as a client of the definition gets them; the identical list when there is
 * nothing to convert. Available entries are converted before the response begins, because a
 * conversion may fail; of entries that take much memory, the first batch.
 */
export async function toServedEntries(
  { codec }: ResourceDefinition,
  entries: Entries,
): Promise<Entries> {
  if (codec === undefined) return entries;
  if (Symbol.asyncIterator in entries) return batches(codec, entries);
  if (codec.toServedSync === undefined) {
    const converted = batches(codec, [entries]);
    const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
    return bytes > heldBytesMax ? begun(converted) : collected(converted);
  }
  // A few short objects are converted in this turn, and a batch of others in several.
  return batchEnd(entries, 0) === entries.length
    ? codec.toServed(entries)
    : batches(codec, [entries]);
}

async function collected(converted: AsyncGenerator<readonly Entry[]>): Promise<readonly Entry[]> {
  const shown: Entry[] = [];
  for await (const batch of converted) for (const entry of batch) shown.push(entry);
  return shown;
}

async function begun(
  converted: AsyncGenerator<readonly Entry[]>,
): Promise<AsyncIterable<readonly Entry[]>> {
  const first = await converted.next();
  return (async function* () {
    if (first.done !== true) yield first.value;
    yield* converted;
  })();
}

async function* batches(
  form: VersionCodec,
  lists: Iterable<readonly Entry[]> | AsyncIterable<readonly Entry[]>,
): AsyncGenerator<readonly Entry[]> {
  for await (const entries of lists) {
    for (let at = 0; at < entries.length; ) {
      const end = batchEnd(entries, at);
      const shown = form.toServed(entries.slice(at, end));
      yield await shown;
      at = end;
      if (at < entries.length) await yieldToEventLoop();
    }
  }
}

/** The end of the batch that begins at `from`; it has at least one entry. */
function batchEnd(entries: readonly Entry[], from: number): number {
  const last = Math.min(entries.length, from + batchEntries);
  let bytes = 0;
  for (let at = from; at < last; at++) {
    bytes += (entries[at] as Entry).value.length;
    if (bytes > batchBytes) return Math.max(at, from + 1);
  }
  return last;
}
