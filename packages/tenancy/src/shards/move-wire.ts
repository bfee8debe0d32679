/** The records of an export between two shards: JSON, with values in base64. */
import type { Entry, ExportRecord } from "@kcp-ts/apiserver/storage";
import { parseJson } from "@kcp-ts/machinery/json";

interface SentEntry extends Omit<Entry, "value"> {
  readonly value: string;
}

export function encodeRecords(records: readonly ExportRecord[]): Buffer {
  return Buffer.from(JSON.stringify(records.map((record) => mapEntries(record, sent))));
}

export function decodeRecords(body: Uint8Array): readonly ExportRecord[] {
  const records = parseJson(Buffer.from(body).toString())
    .value as unknown as readonly ExportRecord[];
  return records.map((record) => mapEntries(record, received));
}

/** The approximate size of a record. */
export function recordBytes(record: ExportRecord): number {
  if (record.kind === "state") return record.entry.value.length;
  if (record.kind !== "change") return 0;
  const { change } = record;
  const current = change.kind === "put" ? change.entry.value.length : 0;
  return current + (change.previous?.value.length ?? 0);
}

function mapEntries(record: ExportRecord, map: (entry: Entry) => Entry): ExportRecord {
  if (record.kind === "state") return { ...record, entry: map(record.entry) };
  if (record.kind !== "change") return record;
  const { change } = record;
  if (change.kind === "delete")
    return { ...record, change: { ...change, previous: map(change.previous) } };
  const previous = change.previous && map(change.previous);
  return { ...record, change: { ...change, entry: map(change.entry), previous } };
}

function sent(entry: Entry): Entry {
  const value = Buffer.from(entry.value).toString("base64");
  return { ...entry, value } satisfies SentEntry as unknown as Entry;
}

function received(entry: Entry): Entry {
  const { value } = entry as unknown as SentEntry;
  return { ...entry, value: Uint8Array.from(Buffer.from(value, "base64")) };
}
