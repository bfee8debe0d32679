/**
 * A map ordered by its string keys, with cheap inserts at any size.
 *
 *     chunks:  [a b c] [d f] [k m p]     each sorted and at most `chunkEntriesMax` long
 *
 * Two binary searches find a place; an insert moves at most one chunk's tail, so a million keys
 * cost no more per insert than a thousand.
 */
interface Chunk<Value> {
  readonly keys: string[];
  readonly values: Value[];
}

const chunkEntriesMax = 512;

export class SortedMap<Value> {
  #chunks: Chunk<Value>[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    const chunk = this.#chunks[this.#chunkIndex(key)];
    if (chunk === undefined) return undefined;
    const at = lowerBound(chunk.keys, key);
    return chunk.keys[at] === key ? chunk.values[at] : undefined;
  }

  has(key: string): boolean {
    const chunk = this.#chunks[this.#chunkIndex(key)];
    return chunk !== undefined && chunk.keys[lowerBound(chunk.keys, key)] === key;
  }

  set(key: string, value: Value): void {
    const index = this.#chunkIndex(key);
    const chunk = this.#chunks[index];
    if (chunk === undefined) {
      this.#chunks.push({ keys: [key], values: [value] });
      this.#size++;
      return;
    }
    const at = lowerBound(chunk.keys, key);
    if (chunk.keys[at] === key) {
      chunk.values[at] = value;
      return;
    }
    chunk.keys.splice(at, 0, key);
    chunk.values.splice(at, 0, value);
    this.#size++;
    if (chunk.keys.length > chunkEntriesMax) this.#split(index, chunk);
  }

  delete(key: string): boolean {
    const index = this.#chunkIndex(key);
    const chunk = this.#chunks[index];
    if (chunk === undefined) return false;
    const at = lowerBound(chunk.keys, key);
    if (chunk.keys[at] !== key) return false;
    chunk.keys.splice(at, 1);
    chunk.values.splice(at, 1);
    this.#size--;
    if (chunk.keys.length === 0) this.#chunks.splice(index, 1);
    return true;
  }

  /** The entries whose keys start with `prefix`, and come after `after` if given, in order. */
  *range(prefix: string, after?: string): Generator<[string, Value]> {
    const behind = after !== undefined && after >= prefix;
    const start = behind ? after : prefix;
    for (let index = this.#chunkIndex(start); index < this.#chunks.length; index++) {
      const { keys, values } = this.#chunks[index] as Chunk<Value>;
      for (let at = lowerBound(keys, start); at < keys.length; at++) {
        const key = keys[at] as string;
        if (behind && key === start) continue;
        if (!key.startsWith(prefix)) {
          if (key > prefix) return;
          continue;
        }
        yield [key, values[at] as Value];
      }
    }
  }

  /**
   * The values of `range`, up to a limit, copied chunk by chunk: later changes do not affect them.
   */
  slice(prefix: string, after?: string, countMax = Number.POSITIVE_INFINITY): Value[] {
    const from = after !== undefined && after >= prefix ? `${after}\0` : prefix;
    const to = `${prefix}\uffff`;
    const found: Value[][] = [];
    let count = 0;
    for (let index = this.#chunkIndex(from); index < this.#chunks.length; index++) {
      const { keys, values } = this.#chunks[index] as Chunk<Value>;
      if ((keys[0] as string) >= to || count >= countMax) break;
      const start = lowerBound(keys, from);
      const end = Math.min(lowerBound(keys, to), start + countMax - count);
      if (end <= start) continue;
      found.push(values.slice(start, end));
      count += end - start;
    }
    const [first, ...rest] = found;
    return first === undefined ? [] : first.concat(...rest);
  }

  /** How many entries `range` would yield, without visiting them one by one. */
  countRange(prefix: string, after?: string): number {
    const from = after !== undefined && after >= prefix ? `${after}\0` : prefix;
    // Keys are ASCII, so this is greater than every key with the prefix.
    const to = `${prefix}\uffff`;
    if (from >= to) return 0;
    return this.#rank(to) - this.#rank(from);
  }

  /** How many keys are less than `key`. */
  #rank(key: string): number {
    let rank = 0;
    for (const chunk of this.#chunks) {
      if ((chunk.keys.at(-1) as string) < key) rank += chunk.keys.length;
      else return rank + lowerBound(chunk.keys, key);
    }
    return rank;
  }

  clear(): void {
    this.#chunks = [];
    this.#size = 0;
  }

  /** The chunk where `key` is or would go: the last one whose first key is not greater. */
  #chunkIndex(key: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (((this.#chunks[middle] as Chunk<Value>).keys[0] as string) <= key) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : low - 1;
  }

  #split(index: number, chunk: Chunk<Value>): void {
    const half = chunk.keys.length >>> 1;
    const right = { keys: chunk.keys.splice(half), values: chunk.values.splice(half) };
    this.#chunks.splice(index + 1, 0, right);
  }
}

/** The first index whose key is not less than `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
