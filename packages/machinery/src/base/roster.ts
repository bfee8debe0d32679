/**
 * Those who are there at the moment, in the order in which they came: for what comes and goes by the thousand in something that stays.
 *
 * A Set or Map would do, but for the garbage collector. A table of theirs that is full is replaced, keeps its members and points to its successor;
 * once it has grown old, collections of the young take it for alive, and with it everything that ever came later, until the whole heap is collected.
 * Here a place that is left points to nobody.
 */
export class SlotSet<Item> {
  #first: Place<Item> | undefined;
  #last: Place<Item> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns what gives the place up again; more than once is once. */
  add(item: Item): () => void {
    const place: Place<Item> = { item, before: this.#last, after: undefined, isTaken: true };
    if (this.#last === undefined) this.#first = place;
    else this.#last.after = place;
    this.#last = place;
    this.#size++;
    return () => this.#leave(place);
  }

  /** Takes out whoever came first. */
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
