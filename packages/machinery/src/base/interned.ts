/**
 * One of each: values that are equal by content are the same value, for as long as somebody holds it.
 *
 * Ten thousand tenants with the same definition hold one compiled schema; when the last of them lets go, so does this table.
 */
export class InternPool<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();
  readonly #collected = new FinalizationRegistry<string>((key) => {
    if (this.#values.get(key)?.deref() === undefined) this.#values.delete(key);
  });

  /** The value under this content hash, made if nobody holds one. */
  get(key: string, make: () => Value): Value {
    const known = this.#values.get(key)?.deref();
    if (known !== undefined) return known;
    const value = make();
    this.#values.set(key, new WeakRef(value));
    this.#collected.register(value, key);
    return value;
  }

  /** Entries in the table, including those whose values are gone but not yet swept. */
  get size(): number {
    return this.#values.size;
  }
}
