/** A set of 32-bit hashes in one array: eight bytes or so for each. */

const capacityMin = 1 << 10;

export class HashSet32 {
  readonly #sizeMax: number;
  /** Zero is an empty place. Never more than half full. */
  #places = new Int32Array(capacityMin);
  #size = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  has(hash: number): boolean {
    return this.#places[this.#placeOf(hash | 0)] !== 0;
  }

  /** False when it is full. */
  add(hash: number): boolean {
    const place = this.#placeOf(hash | 0);
    if (this.#places[place] !== 0) return true;
    if (this.#size >= this.#sizeMax) return false;
    this.#places[place] = stored(hash);
    this.#size++;
    if (this.#size * 2 > this.#places.length) this.#grow();
    return true;
  }

  /** Where the hash is, or would be. */
  #placeOf(hash: number): number {
    const wanted = stored(hash);
    const mask = this.#places.length - 1;
    let place = wanted & mask;
    for (;;) {
      const found = this.#places[place];
      if (found === 0 || found === wanted) return place;
      place = (place + 1) & mask;
    }
  }

  #grow(): void {
    const old = this.#places;
    this.#places = new Int32Array(old.length * 2);
    for (const hash of old) {
      if (hash !== 0) this.#places[this.#placeOf(hash)] = hash;
    }
  }
}

/** Zero has another meaning; that two hashes share a place only means that one of them is not known to be absent. */
function stored(hash: number): number {
  return (hash | 0) === 0 ? 1 : hash | 0;
}
