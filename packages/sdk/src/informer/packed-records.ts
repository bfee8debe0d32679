/**
 * PackedRecords: texts by key, kept as bytes outside the garbage collector's heap.
 *
 * An object of a kilobyte costs V8 more than a kilobyte, and everything that lives long is copied twice on its way into the old
 * generation, whose room is then kept. Bytes in slabs cost what they are long. A record is written once and never changed; what takes its
 * place stands elsewhere, and a slab that is mostly past is moved together with what is left of it.
 */
import { assert } from "@kcp-ts/machinery/base";
import { hashText } from "./hash-text.ts";

/** Small, so that moving what is left of one takes some ten microseconds. */
const slabBytes = 256 << 10;
/** Below this share of what still counts, a slab is cleared. */
const liveShareMin = 0.75;
/** In front of each record: its id, the length of its key, the length of its text. */
const headerBytes = 12;
/** A UTF-16 unit takes at most three bytes. */
const unitBytesMax = 3;
const firstCapacity = 1024;
const none = -1;

interface Slab {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  used: number;
  live: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** For keys and texts between two steps of one call; all stores share it, because a program may have hundreds of small ones. */
const scratch = new Uint8Array(64 << 10);

export class PackedRecords {
  #slabs: (Slab | undefined)[] = [];
  /** The slab that is written to. */
  #current = none;
  readonly #freeSlabs: number[] = [];
  #size = 0;
  /** By id: where the record stands, and the next one of its bucket. */
  #slabOf = new Int32Array(firstCapacity).fill(none);
  #offsetOf = new Uint32Array(firstCapacity);
  #nextOf = new Int32Array(firstCapacity);
  #buckets = new Int32Array(firstCapacity).fill(none);
  #ids = 0;
  #freeId = none;

  get size(): number {
    return this.#size;
  }

  /** Bytes taken, those of past records included that have not been cleared yet. */
  get bytes(): number {
    return this.#slabs.reduce((total, slab) => total + (slab?.bytes.length ?? 0), 0);
  }

  has(key: string): boolean {
    return this.#find(key, this.#encodeKey(key)) !== none;
  }

  get(key: string): string | undefined {
    const id = this.#find(key, this.#encodeKey(key));
    return id === none ? undefined : decoder.decode(this.#textOf(id));
  }

  set(key: string, text: string): void {
    const keyBytes = this.#encodeKey(key);
    const bytes = this.#encode(text, keyBytes.length);
    let id = this.#find(key, keyBytes);
    if (id === none) id = this.#add(key);
    else this.#forget(id);
    this.#write(id, keyBytes, bytes);
  }

  delete(key: string): boolean {
    const id = this.#find(key, this.#encodeKey(key));
    if (id === none) return false;
    this.#unlink(id, this.#bucketOf(key));
    this.#forget(id);
    this.#nextOf[id] = this.#freeId;
    this.#freeId = id;
    this.#size--;
    return true;
  }

  *keys(): IterableIterator<string> {
    for (let id = 0; id < this.#ids; id++) {
      if (at(this.#slabOf, id) !== none) yield decoder.decode(this.#keyOf(id));
    }
  }

  *entries(): IterableIterator<[key: string, text: string]> {
    for (let id = 0; id < this.#ids; id++) {
      if (at(this.#slabOf, id) === none) continue;
      yield [decoder.decode(this.#keyOf(id)), decoder.decode(this.#textOf(id))];
    }
  }

  #find(key: string, keyBytes: Uint8Array): number {
    let id = at(this.#buckets, this.#bucketOf(key));
    while (id !== none && !areEqual(this.#keyOf(id), keyBytes)) id = at(this.#nextOf, id);
    return id;
  }

  #bucketOf(key: string): number {
    return hashText(key) & (this.#buckets.length - 1);
  }

  #add(key: string): number {
    let id = this.#freeId;
    if (id !== none) this.#freeId = at(this.#nextOf, id);
    else {
      if (this.#ids === this.#slabOf.length) this.#grow();
      id = this.#ids++;
    }
    const bucket = this.#bucketOf(key);
    this.#nextOf[id] = at(this.#buckets, bucket);
    this.#buckets[bucket] = id;
    this.#size++;
    return id;
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
    for (let id = 0; id < this.#ids; id++) {
      // Nothing is free when this is needed, so every id has a record.
      const bucket = this.#bucketOf(decoder.decode(this.#keyOf(id)));
      this.#nextOf[id] = at(this.#buckets, bucket);
      this.#buckets[bucket] = id;
    }
  }

  #write(id: number, key: Uint8Array, text: Uint8Array): void {
    const length = headerBytes + key.length + text.length;
    const index = this.#slabFor(length);
    const slab = this.#slab(index);
    const offset = slab.used;
    slab.view.setUint32(offset, id);
    slab.view.setUint32(offset + 4, key.length);
    slab.view.setUint32(offset + 8, text.length);
    slab.bytes.set(key, offset + headerBytes);
    slab.bytes.set(text, offset + headerBytes + key.length);
    slab.used += length;
    slab.live += length;
    this.#slabOf[id] = index;
    this.#offsetOf[id] = offset;
  }

  /** The record stands there no longer; what else stands there may move to where there is more of it. */
  #forget(id: number): void {
    const index = at(this.#slabOf, id);
    const slab = this.#slab(index);
    slab.live -= lengthAt(slab, at(this.#offsetOf, id));
    this.#slabOf[id] = none;
    if (index === this.#current || slab.live > slab.used * liveShareMin) return;
    this.#slabs[index] = undefined;
    for (let offset = 0; offset < slab.used; offset += lengthAt(slab, offset)) {
      const moved = slab.view.getUint32(offset);
      if (at(this.#slabOf, moved) !== index || at(this.#offsetOf, moved) !== offset) continue;
      this.#write(moved, keyAt(slab, offset), textAt(slab, offset));
    }
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
    // One that is too long for any slab has its own, and the others go on where they were.
    if (length <= slabBytes || current === undefined) this.#current = index;
    return index;
  }

  #slab(index: number): Slab {
    const slab = this.#slabs[index];
    assert(slab !== undefined, "a record stands in a slab that is gone");
    return slab;
  }

  #keyOf(id: number): Uint8Array {
    return keyAt(this.#slab(at(this.#slabOf, id)), at(this.#offsetOf, id));
  }

  #textOf(id: number): Uint8Array {
    return textAt(this.#slab(at(this.#slabOf, id)), at(this.#offsetOf, id));
  }

  /** At the start of the scratch. */
  #encodeKey(key: string): Uint8Array {
    return this.#encode(key, 0);
  }

  /** Behind what stands in the scratch already. What has no room in it gets an array of its own. */
  #encode(text: string, from: number): Uint8Array {
    if (from + text.length * unitBytesMax > scratch.length) return encoder.encode(text);
    const room = scratch.subarray(from);
    return room.subarray(0, encoder.encodeInto(text, room).written);
  }
}

function keyAt(slab: Slab, offset: number): Uint8Array {
  const start = offset + headerBytes;
  return slab.bytes.subarray(start, start + slab.view.getUint32(offset + 4));
}

function textAt(slab: Slab, offset: number): Uint8Array {
  const start = offset + headerBytes + slab.view.getUint32(offset + 4);
  return slab.bytes.subarray(start, start + slab.view.getUint32(offset + 8));
}

function lengthAt(slab: Slab, offset: number): number {
  return headerBytes + slab.view.getUint32(offset + 4) + slab.view.getUint32(offset + 8);
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** An index that is known to be inside. */
function at(array: Int32Array | Uint32Array, index: number): number {
  return array[index] as number;
}
