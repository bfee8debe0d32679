/**
 * Where served bytes can differ from stored ones: objects that were stored in another version, or under an older schema.
 *
 * Entries are turned into what a client of the definition gets right after they were read, and back right before they are stored, so
 * that everything in between knows one form only. A definition without a form serves what it stores.
 */
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { MaybePromise } from "../request/api-request.ts";
import type { Entry } from "../storage/index.ts";
import type { ResourceDefinition } from "./definition.ts";

export interface VersionCodec {
  /** Two forms of the same name make the same bytes of an entry. */
  readonly name: string;

  /** One entry as a client gets it; itself when the stored bytes are right. Absent when that takes asking somebody. */
  readonly presentNow: ((entry: Entry) => Entry) | undefined;

  /** The same for many at once; waits where it must. Undefined stands for "all are right as they are". */
  present(entries: readonly Entry[]): MaybePromise<readonly Entry[]>;

  /** An object of the definition's version, as it is to be stored. */
  toStored(object: JsonObject): MaybePromise<JsonObject>;
}

/** Turning a longer one takes rests. */
const shortBytes = 64 << 10;

/** One entry as a client of the definition gets it. */
export function toServed({ form }: ResourceDefinition, entry: Entry): MaybePromise<Entry> {
  if (form === undefined) return entry;
  const isShort = entry.value.length <= shortBytes;
  if (isShort && form.presentNow !== undefined) return form.presentNow(entry);
  const entries = form.present([entry]);
  return entries instanceof Promise
    ? entries.then(([only]) => only as Entry)
    : (entries[0] as Entry);
}

/** Entries, and bytes of them, turned in one go; more are cut into batches, so that others get their turn. */
const batchEntries = 100;
const batchBytes = 256 << 10;

type Entries = readonly Entry[] | AsyncIterable<readonly Entry[]>;

/**
 * A list's entries as a client of the definition gets them; the same list when there is nothing to turn. What may fail is done before the
 * answer begins, as far as the list is at hand.
 */
export function toServedEntries(
  { form }: ResourceDefinition,
  entries: Entries,
): MaybePromise<Entries> {
  if (form === undefined) return entries;
  if (Symbol.asyncIterator in entries) return batches(form, entries);
  if (form.presentNow === undefined) return toServedInBatches(form, entries);
  return batchEnd(entries, 0) === entries.length
    ? entries.map(form.presentNow)
    : batches(form, [entries]);
}

async function toServedInBatches(
  form: VersionCodec,
  entries: readonly Entry[],
): Promise<readonly Entry[]> {
  const shown: Entry[] = [];
  for await (const batch of batches(form, [entries])) for (const entry of batch) shown.push(entry);
  return shown;
}

async function* batches(
  form: VersionCodec,
  lists: Iterable<readonly Entry[]> | AsyncIterable<readonly Entry[]>,
): AsyncGenerator<readonly Entry[]> {
  for await (const entries of lists) {
    for (let at = 0; at < entries.length; ) {
      const end = batchEnd(entries, at);
      const shown = form.present(entries.slice(at, end));
      yield await shown;
      at = end;
      if (at < entries.length) await yieldToEventLoop();
    }
  }
}

/** Where the batch ends that begins there; at least one entry is in it. */
function batchEnd(entries: readonly Entry[], from: number): number {
  const last = Math.min(entries.length, from + batchEntries);
  let bytes = 0;
  for (let at = from; at < last; at++) {
    bytes += (entries[at] as Entry).value.length;
    if (bytes > batchBytes) return Math.max(at, from + 1);
  }
  return last;
}
