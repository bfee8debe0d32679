/**
 * PackedRecords: bytes by key, kept outside of the garbage collector's heap.
 *
 * An object of a kilobyte costs V8 more than a kilobyte, and every long-lived object is copied
 * twice on its way into the old generation, whose memory V8 then keeps. Bytes in slabs cost only
 * their length. A record is written once and never changed; its replacement is a new record, and a
 * slab with few live records is compacted by moving these to another slab.
 *
 *     slab:    record record record …            written from its start on
 *     record:  key length (2)  value length (4)  key  value
 */
import { assert } from "@kcp-ts/machinery/base";
import { hashBytes } from "./hash-bytes.ts";
import type { Bytes } from "./scratch.ts";

/** Small, so that compacting a slab takes some ten microseconds. */
const slabBytes = 256 << 10;
/** A slab with a smaller share of live bytes is compacted. */
const liveShareMin = 0.75;
const headerBytes = 6;
const keyBytesMax = 0xffff;
const firstCapacity = 1024;
const none = -1;

interface Slab {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  used: number;
  live: number;
}

export class PackedRecords {
  #slabs: (Slab | undefined)[] = [];
  /** The slab to which records are appended. */
  #current = none;
  readonly #freeSlabs: number[] = [];
  #size = 0;
  /** By id: the position of the record, and the next record of its bucket. */
  #slabOf = new Int32Array(firstCapacity).fill(none);
  #offsetOf = new Uint32Array(firstCapacity);
  #nextOf = new Int32Array(firstCapacity);
  #buckets = new Int32Array(firstCapacity).fill(none);
  #ids = 0;
  #freeId = none;

  get size(): number {
    return this.#size;
  }

  /** Bytes in use, including those of dead records that have not been compacted yet. */
  get bytes(): number {
    return this.#slabs.reduce((total, slab) => total + (slab?.bytes.length ?? 0), 0);
  }

  has(key: Bytes): boolean {
    return this.#find(key) !== none;
  }

  /** Valid until the next write. */
  get(key: Bytes): Bytes | undefined {
    const id = this.#find(key);
    return id === none ? undefined : this.#valueOf(id);
  }

  set(key: Bytes, value: Bytes): void {
    assert(key.end - key.start <= keyBytesMax, "a key is longer than any name");
    let id = this.#find(key);
    if (id === none) id = this.#add(key);
    else this.#forget(id);
    this.#write(id, key, value);
  }

  delete(key: Bytes): boolean {
    const id = this.#find(key);
    if (id === none) return false;
    this.#unlink(id, this.#bucketOf(key));
    this.#forget(id);
    this.#nextOf[id] = this.#freeId;
    this.#freeId = id;
    this.#size--;
    return true;
  }

  /** Valid until the next write. */
  *entries(): IterableIterator<[key: Bytes, value: Bytes]> {
    for (let id = 0; id < this.#ids; id++) {
      if (at(this.#slabOf, id) !== none) yield [this.#keyOf(id), this.#valueOf(id)];
    }
  }

  #find(key: Bytes): number {
    let id = at(this.#buckets, this.#bucketOf(key));
    while (id !== none && !this.#hasKey(id, key)) id = at(this.#nextOf, id);
    return id;
  }

  #hasKey(id: number, key: Bytes): boolean {
    const index = at(this.#slabOf, id);
    // The record is being replaced.
    if (index === none) return false;
    const { bytes, view } = this.#slab(index);
    const offset = at(this.#offsetOf, id);
    const { array, start, end } = key;
    if (view.getUint16(offset) !== end - start) return false;
    const shift = offset + headerBytes - start;
    for (let i = start; i < end; i++) if (bytes[shift + i] !== array[i]) return false;
    return true;
  }

  #bucketOf(key: Bytes): number {
    return hashBytes(key.array, key.start, key.end) & (this.#buckets.length - 1);
  }

  #add(key: Bytes): number {
    let id = this.#freeId;
    if (id !== none) this.#freeId = at(this.#nextOf, id);
    else {
      if (this.#ids === this.#slabOf.length) this.#grow();
      id = this.#ids++;
    }
    this.#link(id, this.#bucketOf(key));
    this.#size++;
    return id;
  }

  #link(id: number, bucket: number): void {
    this.#nextOf[id] = at(this.#buckets, bucket);
    this.#buckets[bucket] = id;
  }

  #unlink(id: number, bucket: number): void {
    const next = at(this.#nextOf, id);
    let before = at(this.#buckets, bucket);
    if (before === id) {
      this.#buckets[bucket] = next;
      return;
    }
    while (at(this.#nextOf, before) !== id) before = at(this.#nextOf, before);
    this.#nextOf[before] = next;
  }

  #grow(): void {
    const capacity = this.#slabOf.length * 2;
    const slabOf = new Int32Array(capacity).fill(none);
    const offsetOf = new Uint32Array(capacity);
    slabOf.set(this.#slabOf);
    offsetOf.set(this.#offsetOf);
    this.#slabOf = slabOf;
    this.#offsetOf = offsetOf;
    this.#nextOf = new Int32Array(capacity);
    this.#buckets = new Int32Array(capacity).fill(none);
    // No id is free when this is needed, so every id has a record.
    for (let id = 0; id < this.#ids; id++) this.#link(id, this.#bucketOf(this.#keyOf(id)));
  }

  #write(id: number, key: Bytes, value: Bytes): void {
    const keyLength = key.end - key.start;
    const valueLength = value.end - value.start;
    const length = headerBytes + keyLength + valueLength;
    const index = this.#slabFor(length);
    const slab = this.#slab(index);
    const offset = slab.used;
    slab.view.setUint16(offset, keyLength);
    slab.view.setUint32(offset + 2, valueLength);
    copy(key, slab.bytes, offset + headerBytes);
    copy(value, slab.bytes, offset + headerBytes + keyLength);
    slab.used += length;
    slab.live += length;
    this.#slabOf[id] = index;
    this.#offsetOf[id] = offset;
  }

  /** Frees the record; the remaining records of its slab may move to another slab. */
  #forget(id: number): void {
    const index = at(this.#slabOf, id);
    const slab = this.#slab(index);
    slab.live -= lengthAt(slab, at(this.#offsetOf, id));
    this.#slabOf[id] = none;
    if (index === this.#current || slab.live > slab.used * liveShareMin) return;
    this.#moveOut(index, slab);
  }

  #moveOut(index: number, slab: Slab): void {
    for (let offset = 0; offset < slab.used; offset += lengthAt(slab, offset)) {
      const key = keyAt(slab, offset);
      const id = this.#find(key);
      const isPast =
        id === none || at(this.#slabOf, id) !== index || at(this.#offsetOf, id) !== offset;
      if (!isPast) this.#write(id, key, valueAt(slab, offset));
    }
    this.#slabs[index] = undefined;
    this.#freeSlabs.push(index);
  }

  #slabFor(length: number): number {
    const current = this.#slabs[this.#current];
    if (current !== undefined && current.used + length <= current.bytes.length)
      return this.#current;
    const bytes = new Uint8Array(Math.max(slabBytes, length));
    const slab = { bytes, view: new DataView(bytes.buffer), used: 0, live: 0 };
    const index = this.#freeSlabs.pop() ?? this.#slabs.length;
    this.#slabs[index] = slab;
    // A record that is too long for any slab has its own slab, and the current slab stays current.
    if (length <= slabBytes || current === undefined) this.#current = index;
    return index;
  }

  #slab(index: number): Slab {
    const slab = this.#slabs[index];
    assert(slab !== undefined, "a record stands in a slab that is gone");
    return slab;
  }

  #keyOf(id: number): Bytes {
    return keyAt(this.#slab(at(this.#slabOf, id)), at(this.#offsetOf, id));
  }

  #valueOf(id: number): Bytes {
    return valueAt(this.#slab(at(this.#slabOf, id)), at(this.#offsetOf, id));
  }
}

function keyAt({ bytes, view }: Slab, offset: number): Bytes {
  const start = offset + headerBytes;
  return { array: bytes, start, end: start + view.getUint16(offset) };
}

function valueAt({ bytes, view }: Slab, offset: number): Bytes {
  const start = offset + headerBytes + view.getUint16(offset);
  return { array: bytes, start, end: start + view.getUint32(offset + 2) };
}

/** For fewer bytes, a call out of JavaScript costs more than a loop. */
const loopBytesMax = 256;

function copy({ array, start, end }: Bytes, target: Uint8Array, at: number): void {
  if (end - start > loopBytesMax) {
    target.set(array.subarray(start, end), at);
    return;
  }
  const shift = at - start;
  for (let i = start; i < end; i++) target[shift + i] = array[i] as number;
}

function lengthAt({ view }: Slab, offset: number): number {
  return headerBytes + view.getUint16(offset) + view.getUint32(offset + 2);
}

/** An index that is known to be in range. */
function at(array: Int32Array | Uint32Array, index: number): number {
  return array[index] as number;
}
