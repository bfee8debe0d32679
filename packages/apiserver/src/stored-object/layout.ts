/**
 * Converts stored bytes to the bytes that a client gets: a get, a list and a watch copy bytes and
 * parse nothing.
 *
 *     {"kind":"ConfigMap","apiVersion":"v1","metadata":{"labels":{…},"resourceVersion":"7","annotations":{"kcp.io/cluster":"root",…},"name":"x",…},…}
 *     ^ head: omitted in lists of built-in kinds                     ^ the gap, filled
 */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import {
  type JsonObject,
  JsonSyntaxError,
  parseJson,
  parseResumable,
} from "@kcp-ts/machinery/json";
import { clusterOfKey, type Entry, type Revision, type StorageKey } from "../storage/index.ts";
import { clusterAnnotation, encodeObject } from "./encode.ts";
import {
  corruptValueError,
  envelopeFlag,
  hasFlag,
  labelsOpening,
  metadataOpening,
  readEnvelope,
  textStart,
  writeEnvelope,
} from "./envelope.ts";

/** The parsed object with its resourceVersion and its cluster. */
export function decodeObject(entry: Entry): JsonObject {
  const text = textOf(entry);
  return readable(entry, () => parseJson(text).value as JsonObject);
}

/** Parses a large object while yielding to the event loop. */
export function* decodeObjectResumable(entry: Entry): Resumable<JsonObject> {
  const text = textOf(entry);
  yield;
  return yield* parsed(entry, text);
}

function* parsed(entry: Entry, text: string): Resumable<JsonObject> {
  const work = parseResumable(text);
  for (;;) {
    const { done, value } = readable(entry, () => work.next());
    if (done === true) return value.value as JsonObject;
    yield;
  }
}

function textOf(entry: Entry): string {
  const { bytes, gap } = readEnvelope(entry);
  const filling = serverFieldsOf(entry.key, entry.modifiedAt);
  return bytes.toString("utf8", textStart, gap) + filling + bytes.toString("utf8", gap);
}

function readable<Result>(entry: Entry, parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw corruptValueError(entry, error);
    throw error;
  }
}

/**
 * The complete object as a client gets it. A deleted object is served with another resourceVersion,
 * the revision of its deletion.
 */
export function servedBytes(entry: Entry, revision: Revision = entry.modifiedAt): Buffer {
  const { bytes, gap } = readEnvelope(entry);
  const filling = serverFieldsOf(entry.key, revision);
  const served = Buffer.allocUnsafe(bytes.length - textStart + filling.length);
  let at = bytes.copy(served, 0, textStart, gap);
  at += served.write(filling, at, "latin1");
  bytes.copy(served, at, gap);
  return served;
}

/**
 * Writes the object as an item of a list into `target` and returns the end. `itemBytesMax` bytes
 * must fit.
 */
export function writeListItem(target: Buffer, at: number, entry: Entry, withKind: boolean): number {
  const { bytes, metadata, gap } = readEnvelope(entry);
  const filling = serverFieldsOf(entry.key, entry.modifiedAt);
  // Without labels the bytes before the gap are constant: one write is cheaper than two and a copy.
  if (!withKind && gap === metadata + metadataOpening.length) {
    at += target.write(`{${metadataOpening}${filling}`, at, "latin1");
  } else {
    if (!withKind) target[at++] = openBrace;
    at += bytes.copy(target, at, withKind ? textStart : metadata, gap);
    at += target.write(filling, at, "latin1");
  }
  return at + bytes.copy(target, at, gap);
}

export function itemBytesMax(entry: Entry): number {
  return entry.value.length + entry.key.length + fillingBytesMax;
}

/**
 * The object's metadata alone, as PartialObjectMetadata of a version of meta.k8s.io: sliced from
 * the stored bytes, not parsed.
 */
export function partialBytesAt(entry: Entry, revision: Revision, version: string): Buffer {
  const { bytes, metadata, gap, metadataEnd } = readEnvelope(entry);
  const head = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}",`;
  const filling = serverFieldsOf(entry.key, revision);
  const length = head.length + filling.length + (metadataEnd - metadata) + 1;
  const partial = Buffer.allocUnsafe(length);
  let at = partial.write(head, 0, "latin1");
  at += bytes.copy(partial, at, metadata, gap);
  at += partial.write(filling, at, "latin1");
  at += bytes.copy(partial, at, gap, metadataEnd);
  partial[at] = closeBrace;
  return partial;
}

/** The version in which the object is stored. */
export function storedVersionOf(entry: Entry): string {
  return headOfEntry(entry).apiVersion;
}

function headOfEntry(entry: Entry): { readonly kind: string; readonly apiVersion: string } {
  const { bytes, metadata } = readEnvelope(entry);
  const head = bytes.toString("utf8", textStart, metadata - 1);
  return JSON.parse(`${head}}`) as ReturnType<typeof headOfEntry>;
}

/**
 * An entry with the object's metadata alone, to which the server adds an annotation. The annotation
 * is inserted without parsing, so that the cost is the same for any object; except where the
 * metadata mentions that annotation, because a client may have set it.
 */
export function annotatedMetadata(entry: Entry, name: string, value: string): Entry {
  const { bytes, metadata, gap, metadataEnd } = readEnvelope(entry);
  if (bytes.subarray(gap, metadataEnd).includes(name)) {
    const { kind, apiVersion } = headOfEntry(entry);
    const all = runSync(decodeMetadata(entry));
    const annotations = { ...(all["annotations"] as JsonObject | undefined), [name]: value };
    return {
      ...entry,
      value: encodeObject({ kind, apiVersion, metadata: { ...all, annotations } }),
    };
  }
  const note = Buffer.from(`,${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const alone = Buffer.concat([
    bytes.subarray(0, gap),
    note,
    bytes.subarray(gap, metadataEnd),
    closing,
  ]);
  const places = { metadata, gap, metadataEnd: metadataEnd + note.length };
  return { ...entry, value: writeEnvelope(alone, bytes[1] as number, places) };
}

const closing = Buffer.from("}");

/** Parses the metadata alone; yields to the event loop where it is large. */
export function* decodeMetadata(entry: Entry): Resumable<JsonObject> {
  const { bytes, metadata, gap, metadataEnd } = readEnvelope(entry);
  const filling = serverFieldsOf(entry.key, entry.modifiedAt);
  const from = metadata + metadataOpening.length - 1;
  const text =
    bytes.toString("utf8", from, gap) + filling + bytes.toString("utf8", gap, metadataEnd);
  return yield* parsed(entry, text);
}

/** The labels, without parsing the rest. */
export function labelsOf(entry: Entry): Readonly<Record<string, string>> | undefined {
  const { bytes, metadata, gap } = readEnvelope(entry);
  const start = metadata + metadataOpening.length;
  if (start === gap) return undefined;
  // A comma follows the labels, and then the gap.
  const text = bytes.toString("utf8", start + labelsOpening.length, gap - 1);
  return JSON.parse(text) as Record<string, string>;
}

/** Whether the labels contain these bytes anywhere: a cheap check that excludes most objects. */
export function labelsMayContain(entry: Entry, word: Buffer): boolean {
  const { bytes, metadata, gap } = readEnvelope(entry);
  const start = metadata + metadataOpening.length;
  return start < gap && bytes.subarray(start, gap).includes(word);
}

/**
 * Whether the stored text contains these bytes anywhere: a cheap check that excludes most objects,
 * without regard to their meaning.
 */
export function mayContain(entry: Entry, word: Buffer): boolean {
  return readEnvelope(entry).bytes.includes(word, textStart);
}

/** Whether garbage collection handles the object: it has owners, or waits for its dependents. */
export function hasOwnershipMetadata(entry: Pick<Entry, "key" | "value">): boolean {
  return hasFlag(entry, envelopeFlag.owned | envelopeFlag.awaitsDependents);
}

export function hasFinalizers(entry: Entry): boolean {
  return hasFlag(entry, envelopeFlag.finalizers);
}

/** Whether the object has a deletionTimestamp. */
export function isBeingDeleted(entry: Entry): boolean {
  return hasFlag(entry, envelopeFlag.deleting);
}

/** Whether the object has the condition Established. */
export function isEstablished(entry: Entry): boolean {
  return hasFlag(entry, envelopeFlag.established);
}

/** The bytes before the metadata of every object of a kind and version. */
export function typeMetaPrefix(kind: string, apiVersion: string): Buffer {
  return Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`);
}

export function hasTypeMetaPrefix(entry: Entry, head: Buffer): boolean {
  const { bytes, metadata } = readEnvelope(entry);
  return (
    metadata - textStart === head.length &&
    bytes.compare(head, 0, head.length, textStart, metadata) === 0
  );
}

/**
 * Whether two values have the same bytes in any order: if not, they hold different objects; if so,
 * most probably equal ones.
 */
export function mayBeEqual(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  let sum = 0;
  let squares = 0;
  for (let at = textStart; at < one.length; at++) {
    const a = one[at] as number;
    const b = other[at] as number;
    sum += a - b;
    squares += a * a - b * b;
  }
  return sum === 0 && squares === 0;
}

const openBrace = 0x7b;
const closeBrace = 0x7d;
/** The size of the server's fields without the name of the cluster, which is part of the key. */
const fillingBytesMax = 128;

/** The content of the gap: the following bytes close the last open member. */
function serverFieldsOf(key: StorageKey, revision: Revision): string {
  if (!key.startsWith(lastCluster.prefix)) lastCluster = clusterAnnotationBytes(key);
  return `"resourceVersion":"${revision}",${lastCluster.text}`;
}

/** Entries of one cluster are often served consecutively. */
let lastCluster = { prefix: "\0", text: "" };

function clusterAnnotationBytes(key: StorageKey): typeof lastCluster {
  const { cluster, end } = clusterOfKey(key);
  const text = `"annotations":{"${clusterAnnotation}":${JSON.stringify(cluster)}`;
  return { prefix: key.slice(0, end + 1), text };
}
