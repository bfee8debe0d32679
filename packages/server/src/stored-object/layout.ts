/**
 * The bytes of a stored object, and how they become the bytes that a client gets.
 *
 *     {"kind":"ConfigMap","apiVersion":"v1","metadata":{"labels":{…},"name":"x",…},"data":{…}}
 *                                                      ^ resourceVersion goes in here
 *     ^ head: left out in lists of built-in kinds        ^ labels first: a selector reads no further
 *
 * An object is stored as the JSON that a client of the storage version gets, less its resourceVersion, which is known only when the
 * write is done. So a get, a list and a watch copy bytes and parse nothing.
 */
import { assert, type Pieces } from "@kcp-ts/machinery/base";
import {
  type JsonObject,
  type JsonValue,
  parseInPieces,
  parseJson,
  stringifyInPieces,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import type { Entry, Revision } from "../storage/index.ts";

export function encodeObject(object: JsonObject): Buffer {
  return Buffer.from(stringifyJson(ordered(object)));
}

/** The same of a large object, with rests. */
export function* encodeInPieces(object: JsonObject): Pieces<Buffer> {
  const text = yield* stringifyInPieces(ordered(object));
  yield;
  return Buffer.from(text);
}

/** Puts the members in the stored order and leaves the resourceVersion out. */
function ordered(object: JsonObject): JsonObject {
  const { kind, apiVersion, metadata, ...rest } = object as {
    kind: string;
    apiVersion: string;
    metadata: { [key: string]: JsonValue };
  };
  const { labels, resourceVersion: _, ...others } = metadata;
  const orderedMetadata = labels === undefined ? others : { labels, ...others };
  return { kind, apiVersion, metadata: orderedMetadata, ...rest } as JsonObject;
}

/** The object with its resourceVersion, for those who must look inside. */
export function decodeObject(entry: Entry): JsonObject {
  return withVersion(parseJson(textOf(entry.value)).value as JsonObject, entry);
}

/** The same of a large object, with rests. */
export function* decodeObjectInPieces(entry: Entry): Pieces<JsonObject> {
  const text = textOf(entry.value);
  yield;
  return withVersion((yield* parseInPieces(text)).value as JsonObject, entry);
}

function withVersion(object: JsonObject, entry: Entry): JsonObject {
  const metadata = object["metadata"] as JsonObject;
  return { ...object, metadata: { ...metadata, resourceVersion: String(entry.modifiedAt) } };
}

/** The whole object as a client gets it. */
export function servedBytes(entry: Entry): Buffer {
  return servedBytesAt(entry, entry.modifiedAt);
}

/** The same with another resourceVersion: a deleted object is served at the revision of its deletion. */
export function servedBytesAt(entry: Entry, revision: Revision): Buffer {
  const value = asBuffer(entry.value);
  const split = metadataStart(value);
  const version = versionMember(revision);
  const bytes = Buffer.allocUnsafe(value.length + version.length);
  value.copy(bytes, 0, 0, split);
  bytes.write(version, split, "latin1");
  value.copy(bytes, split + version.length, split);
  return bytes;
}

/** Writes the object as an item of a list into `target` and returns the end. `itemBytesMax` bytes must fit. */
export function writeListItem(target: Buffer, at: number, entry: Entry, withKind: boolean): number {
  const value = asBuffer(entry.value);
  const split = metadataStart(value);
  const version = versionMember(entry.modifiedAt);
  if (withKind) {
    at += value.copy(target, at, 0, split);
  } else {
    at += target.write(`{${metadataMember}`, at, "latin1");
  }
  at += target.write(version, at, "latin1");
  return at + value.copy(target, at, split);
}

export function itemBytesMax(entry: Entry): number {
  return entry.value.length + versionBytesMax;
}

/** The object's metadata alone, as PartialObjectMetadata of a version of meta.k8s.io: cut out of the stored bytes, not parsed. */
export function partialBytesAt(entry: Entry, revision: Revision, version: string): Buffer {
  const value = asBuffer(entry.value);
  const start = metadataStart(value);
  const head = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}",${metadataMember}${versionMember(revision)}`;
  const end = objectEnd(value, start - 1);
  const bytes = Buffer.allocUnsafe(head.length + (end - start) + 1);
  bytes.write(head, 0, "latin1");
  value.copy(bytes, head.length, start, end);
  bytes[bytes.length - 1] = 0x7d;
  return bytes;
}

/** The labels, read off the front of the metadata without parsing the rest. */
export function labelsOf(entry: Entry): Readonly<Record<string, string>> | undefined {
  const value = asBuffer(entry.value);
  const start = metadataStart(value);
  if (value.indexOf(labelsMember, start, "latin1") !== start) return undefined;
  const open = start + labelsMember.length - 1;
  return JSON.parse(value.toString("utf8", open, objectEnd(value, open))) as Record<string, string>;
}

/**
 * Whether garbage collection is about the object: it has owners, or waits for its dependents. Read off the bytes: it never says no to one that is,
 * and may say yes to one that only mentions the words.
 */
export function hasMetadataOfOwnership({ value }: Pick<Entry, "value">): boolean {
  const bytes = asBuffer(value);
  if (bytes.includes(ownersMember)) return true;
  const finalizers = bytes.indexOf(finalizersMember);
  if (finalizers === -1) return false;
  return bytes.includes(orphanWord, finalizers) || bytes.includes(foregroundWord, finalizers);
}

/** Whether the stored bytes have these bytes in them somewhere. */
export function mentions({ value }: Pick<Entry, "value">, word: Buffer): boolean {
  return asBuffer(value).includes(word);
}

// The ends of `"ownerReferences":[` and `"finalizers":[`: a search is fast when the first byte is a rare one, which a quote in JSON is not.
const ownersMember = Buffer.from('References":[');
const finalizersMember = Buffer.from('zers":[');
const orphanWord = Buffer.from('"orphan"');
const foregroundWord = Buffer.from('"foregroundDeletion"');

const metadataMember = '"metadata":{';
const labelsMember = '"labels":{';
const versionBytesMax = 64;

/** The first byte inside the metadata object. Kind and apiVersion stand before it and cannot contain this text. */
function metadataStart(value: Buffer): number {
  const found = value.indexOf(metadataMember, 0, "latin1");
  assert(found > 0, "a stored object has no metadata");
  return found + metadataMember.length;
}

function versionMember(revision: Revision): string {
  return `"resourceVersion":"${revision}",`;
}

/** Behind the closing brace of the object that opens at `open`. */
function objectEnd(value: Buffer, open: number): number {
  let depth = 0;
  for (let at = open; at < value.length; at++) {
    const byte = value[at];
    if (byte === 0x22) at = stringEnd(value, at);
    else if (byte === 0x7b) depth++;
    else if (byte === 0x7d && --depth === 0) return at + 1;
  }
  assert(false, "a stored object ends before its metadata does");
}

/** The closing quote of the string that opens at `open`. */
function stringEnd(value: Buffer, open: number): number {
  let at = open + 1;
  while (value[at] !== 0x22) at += value[at] === 0x5c ? 2 : 1;
  return at;
}

function textOf(value: Uint8Array): string {
  return asBuffer(value).toString("utf8");
}

/** Backends hand out Buffers or plain arrays; a view costs nothing. */
function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
