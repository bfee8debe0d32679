/** A set of 32-bit hashes in one array: about eight bytes for each. */

const capacityMin = 1 << 10;

export class HashSet32 {
  readonly #sizeMax: number;
  /** Zero is an empty slot. Never more than half full. */
  #slots = new Int32Array(capacityMin);
  #size = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  has(hash: number): boolean {
    return this.#slots[this.#slotOf(hash | 0)] !== 0;
  }

  /** False when the set is full. */
  add(hash: number): boolean {
    const place = this.#slotOf(hash | 0);
    if (this.#slots[place] !== 0) return true;
    if (this.#size >= this.#sizeMax) return false;
    this.#slots[place] = stored(hash);
    this.#size++;
    if (this.#size * 2 > this.#slots.length) this.#grow();
    return true;
  }

  /** The slot of the hash, present or not. */
  #slotOf(hash: number): number {
    const wanted = stored(hash);
    const mask = this.#slots.length - 1;
    let place = wanted & mask;
    for (;;) {
      const found = this.#slots[place];
      if (found === 0 || found === wanted) return place;
      place = (place + 1) & mask;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2);
    for (const hash of old) {
      if (hash !== 0) this.#slots[this.#slotOf(hash)] = hash;
    }
  }
}

/** Zero means empty; a collision only means that an absent hash is not detected as absent. */
function stored(hash: number): number {
  return (hash | 0) === 0 ? 1 : hash | 0;
}
