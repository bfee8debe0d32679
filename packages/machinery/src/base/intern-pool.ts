/**
 * InternPool: equal values by content are the identical value, as long as a caller holds it.
 *
 * Ten thousand tenants with the same CRD share one compiled schema; when the last of them releases
 * it, so does this table.
 */
export class InternPool<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();
  readonly #collected = new FinalizationRegistry<string>((key) => {
    if (this.#values.get(key)?.deref() === undefined) this.#values.delete(key);
  });

  /** The value with this content hash, created if no caller holds one. */
  get(key: string, make: () => Value): Value {
    const known = this.#values.get(key)?.deref();
    if (known !== undefined) return known;
    const value = make();
    this.#values.set(key, new WeakRef(value));
    this.#collected.register(value, key);
    return value;
  }

  /** Entries in the table, including those whose values are collected but not yet swept. */
  get size(): number {
    return this.#values.size;
  }
}
