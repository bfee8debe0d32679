/**
 * The records of moves in the engine.
 *
 *     i<cluster>                    a MoveRecord: | format: 1 | crc32: 4 | JSON |
 *     l<cluster> NUL <revision>     an imported change
 *     change: | format: 1 | kind: 1 | crc32: 4 | key: 4 + n | entry: 4 + n | previous: 4 + n |
 *
 * Imported changes have their values with them: no other record has them, and their history ends as
 * a whole.
 */
import { crc32 } from "node:zlib";
import { type DataChange, keyOfChange } from "../change-feed.ts";
import type { StorageKey } from "../key.ts";
import type { MoveRecord } from "../moves/cluster-moves.ts";
import type { Entry } from "../storage.ts";
import { corruptError } from "./corrupt-error.ts";
import { decodeEntry, encodeEntry } from "./entry-record.ts";
import { parseImportedKey } from "./layout.ts";

export function encodeMoveRecord(record: MoveRecord): Buffer {
  return sealed(recordFormat, Buffer.from(JSON.stringify(record)));
}

export function decodeMoveRecord(cluster: string, bytes: Buffer, where: string): MoveRecord {
  const json = opened(recordFormat, bytes);
  if (json === undefined)
    throw corruptError(where, `the record of the move of ${cluster} is damaged`);
  return JSON.parse(json.toString()) as MoveRecord;
}

export function encodeImported(change: DataChange): Buffer {
  const key = keyOfChange(change);
  const parts = [Buffer.from([change.kind === "put" ? 1 : 2]), sized(Buffer.from(key, "latin1"))];
  for (const entry of [change.kind === "put" ? change.entry : undefined, change.previous])
    parts.push(sized(entry === undefined ? nothing : recordOf(entry)));
  return sealed(changeFormat, Buffer.concat(parts));
}

export function decodeImported(engineKey: string, bytes: Buffer, where: string): DataChange {
  const body = opened(changeFormat, bytes);
  if (body === undefined)
    throw corruptError(where, `an imported change has a wrong checksum: ${engineKey}`);
  const parts: Buffer[] = [];
  for (let at = 1; at < body.length; ) {
    const end = at + 4 + body.readUInt32BE(at);
    parts.push(body.subarray(at + 4, end));
    at = end;
  }
  const [name, current, before] = parts as [Buffer, Buffer, Buffer];
  const key = name.toString("latin1") as StorageKey;
  const { revision } = parseImportedKey(engineKey);
  const entryIn = (record: Buffer): Entry | undefined =>
    record.length === 0 ? undefined : decodeEntry(key, Buffer.from(record), where);
  const entry = entryIn(current);
  const previous = entryIn(before);
  if (body[0] === 1 && entry !== undefined) return { kind: "put", entry, previous, revision };
  if (previous === undefined)
    throw corruptError(where, `nothing was deleted at ${revision} by an imported change`);
  return { kind: "delete", previous, revision };
}

function recordOf({ key, value, createdAt, modifiedAt }: Entry): Buffer {
  return encodeEntry(key, value, createdAt, modifiedAt).record;
}

function sized(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function sealed(format: number, body: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header[0] = format;
  header.writeUInt32BE(crc32(body), 1);
  return Buffer.concat([header, body]);
}

function opened(format: number, bytes: Buffer): Buffer | undefined {
  const body = bytes.subarray(5);
  const isIntact = bytes[0] === format && bytes.length > 5 && bytes.readUInt32BE(1) === crc32(body);
  return isIntact ? body : undefined;
}

const recordFormat = 1;
const changeFormat = 1;
const nothing = Buffer.alloc(0);
