/**
 * SlotSet: the current members in the order of insertion, for thousands of short-lived members in a
 * long-lived object.
 *
 * A Set or Map would do, except for the garbage collector. Their full table is replaced by a larger
 * one, keeps its members and refers to its successor; once the old table is in the old generation,
 * young collections treat it as alive, and with it all later members, until a full collection. Here
 * a free slot refers to nothing.
 */
export class SlotSet<Item> {
  #first: Place<Item> | undefined;
  #last: Place<Item> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns a function that frees the slot again; further calls have no effect. */
  add(item: Item): () => void {
    const place: Place<Item> = { item, before: this.#last, after: undefined, isTaken: true };
    if (this.#last === undefined) this.#first = place;
    else this.#last.after = place;
    this.#last = place;
    this.#size++;
    return () => this.#leave(place);
  }

  /** Removes the first member. */
  shift(): Item | undefined {
    const place = this.#first;
    if (place === undefined) return undefined;
    const { item } = place;
    this.#leave(place);
    return item;
  }

  #leave(place: Place<Item>): void {
    if (!place.isTaken) return;
    const { before, after } = place;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    this.#size--;
    place.isTaken = false;
    place.item = undefined;
    place.before = undefined;
    place.after = undefined;
  }
}

interface Place<Item> {
  item: Item | undefined;
  before: Place<Item> | undefined;
  after: Place<Item> | undefined;
  isTaken: boolean;
}
