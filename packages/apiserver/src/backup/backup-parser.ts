/**
 * BackupParser parses the bytes of a backup as they arrive and returns its entries; throws
 * `BackupFormatError` at the first invalid byte. Only `end` proves that the backup is complete.
 */
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { type Entry, type StorageKey, toRevision } from "../storage/index.ts";
import {
  BackupFormatError,
  type BackupHead,
  endPayloadBytes,
  entryPrefixBytes,
  formatVersion,
  magic,
  payloadBytesMax,
  recordPrefixBytes,
  recordSuffixBytes,
  recordType,
} from "./backup-format.ts";

export class BackupParser {
  #state: "preamble" | "head" | "entries" | "ended" = "preamble";
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #head: BackupHead | undefined;
  #lastKey = "";
  #entries = 0;
  #bytes = 0;
  readonly #hash = createHash("sha256");

  /** Undefined until enough bytes have arrived. */
  get head(): BackupHead | undefined {
    return this.#head;
  }

  get entries(): number {
    return this.#entries;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(chunk: Uint8Array): Entry[] {
    this.#bytes += chunk.length;
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    const found: Entry[] = [];
    while (this.#step(found));
    return found;
  }

  /** Ends the input: throws unless the bytes are a complete backup. */
  end(): BackupHead {
    if (this.#state === "preamble" && this.#bytes < magic.length) throw notABackup();
    if (this.#state !== "ended" || this.#head === undefined) {
      throw new BackupFormatError(
        `the backup is cut short after ${this.#entries} entries: it has no end`,
      );
    }
    return this.#head;
  }

  /** Parses the next part, if it has arrived completely. */
  #step(found: Entry[]): boolean {
    if (this.#state === "preamble") return this.#preamble();
    if (this.#state === "ended") {
      if (this.#waitingBytes > 0) throw new BackupFormatError("something follows the backup's end");
      return false;
    }
    const prefix = this.#peek(recordPrefixBytes);
    if (prefix === undefined) return false;
    const length = prefix.readUInt32BE(0);
    if (length > payloadBytesMax) throw this.#damaged(`a record of ${length} bytes`);
    const whole = this.#peek(recordPrefixBytes + length + recordSuffixBytes);
    if (whole === undefined) return false;
    const payload = whole.subarray(recordPrefixBytes, recordPrefixBytes + length);
    if (crc32(whole.subarray(4, -recordSuffixBytes)) !== whole.readUInt32BE(whole.length - 4)) {
      throw this.#damaged("a record with a wrong checksum");
    }
    const type = whole.readUInt8(4);
    this.#record(type, payload, found);
    if (type !== recordType.end) this.#hash.update(whole);
    this.#drop(whole.length);
    return true;
  }

  #preamble(): boolean {
    const bytes = this.#peek(magic.length + 4);
    if (bytes === undefined) return false;
    if (!bytes.subarray(0, magic.length).equals(magic)) throw notABackup();
    const version = bytes.readUInt32BE(magic.length);
    if (version !== formatVersion) {
      throw new BackupFormatError(
        `the backup has format version ${version}, this kcp reads version ${formatVersion}: use the kcp that made it, or a newer one`,
      );
    }
    this.#hash.update(bytes);
    this.#drop(bytes.length);
    this.#state = "head";
    return true;
  }

  #record(type: number, payload: Buffer, found: Entry[]): void {
    if (this.#state === "head") {
      if (type !== recordType.head) throw this.#damaged("no head");
      this.#head = this.#parseHead(payload);
      this.#state = "entries";
    } else if (type === recordType.entry) found.push(this.#parseEntry(payload));
    else if (type === recordType.end) this.#parseEnd(payload);
    else throw this.#damaged(`a record of unknown type ${type}`);
  }

  #parseHead(payload: Buffer): BackupHead {
    try {
      const { revision, createdAt } = JSON.parse(payload.toString("utf8")) as BackupHead;
      return { revision: toRevision(revision), createdAt: String(createdAt) };
    } catch (error) {
      throw new BackupFormatError("the backup is damaged: its head cannot be read", {
        cause: error,
      });
    }
  }

  #parseEntry(payload: Buffer): Entry {
    const valueStart =
      payload.length < entryPrefixBytes ? Infinity : entryPrefixBytes + payload.readUInt16BE(16);
    if (valueStart > payload.length) throw this.#damaged("an entry that is too short");
    const key = payload.toString("latin1", entryPrefixBytes, valueStart) as StorageKey;
    if (key <= this.#lastKey) throw this.#damaged("entries out of order");
    this.#lastKey = key;
    this.#entries++;
    return {
      key,
      // A view: chunks are not written to again.
      value: new Uint8Array(
        payload.buffer,
        payload.byteOffset + valueStart,
        payload.length - valueStart,
      ),
      createdAt: toRevision(payload.readBigUInt64BE(0)),
      modifiedAt: toRevision(payload.readBigUInt64BE(8)),
    };
  }

  #parseEnd(payload: Buffer): void {
    if (payload.length !== endPayloadBytes) throw this.#damaged("an end of the wrong length");
    const count = payload.readBigUInt64BE(0);
    if (count !== BigInt(this.#entries)) {
      throw this.#damaged(`${this.#entries} entries instead of ${count}`);
    }
    if (!payload.subarray(8).equals(this.#hash.digest())) throw this.#damaged("a wrong hash");
    this.#state = "ended";
  }

  #damaged(what: string): BackupFormatError {
    return new BackupFormatError(
      `the backup is damaged: it has ${what} behind ${this.#entries} good entries`,
    );
  }

  /**
   * The next bytes in one buffer, or undefined until all of them have arrived; does not consume
   * them.
   */
  #peek(length: number): Buffer | undefined {
    if (this.#waitingBytes < length) return undefined;
    if ((this.#waiting[0] as Uint8Array).length < length) {
      this.#waiting = [Buffer.concat(this.#waiting, this.#waitingBytes)];
    }
    const { buffer, byteOffset } = this.#waiting[0] as Uint8Array;
    return Buffer.from(buffer, byteOffset, length);
  }

  #drop(length: number): void {
    const [first, ...rest] = this.#waiting as [Uint8Array, ...Uint8Array[]];
    this.#waiting = first.length === length ? rest : [first.subarray(length), ...rest];
    this.#waitingBytes -= length;
  }
}

function notABackup(): BackupFormatError {
  return new BackupFormatError("the file is not a backup made by kcp");
}
