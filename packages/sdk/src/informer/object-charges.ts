/**
 * ObjectCharges: what the objects of a table take from the account of an untrusted server.
 *
 * The table of the next state borrows the charges of objects that it has in common with the current
 * one. It returns them when it is discarded, so that a listing that fails changes nothing.
 */
import { approximateBytes, type MemoryAccount, outOfMemoryError } from "../client/index.ts";

export class ObjectCharges {
  readonly #account: MemoryAccount;
  readonly #bytes = new Map<string, number>();
  /** The charges of the current state, while this is the next one. */
  #current: ObjectCharges | undefined;
  readonly #borrowed = new Set<string>();

  constructor(account: MemoryAccount, current?: ObjectCharges) {
    this.#account = account;
    this.#current = current;
  }

  next(): ObjectCharges {
    return new ObjectCharges(this.#account, this);
  }

  /** Throws a TransportError, and changes nothing, when the account has no room for the object. */
  set(key: string, object: unknown): void {
    const bytes = key.length + approximateBytes(object);
    if (!this.#account.tryTake(bytes)) throw outOfMemoryError();
    this.delete(key);
    this.#bytes.set(key, bytes);
  }

  /** The object at `key` is that of the current state. */
  borrow(key: string): void {
    this.delete(key);
    const current = this.#current;
    const bytes = current === undefined ? undefined : current.#bytes.get(key);
    if (current === undefined || bytes === undefined) return;
    current.#bytes.delete(key);
    this.#bytes.set(key, bytes);
    this.#borrowed.add(key);
  }

  delete(key: string): void {
    const bytes = this.#bytes.get(key);
    if (bytes === undefined) return;
    this.#bytes.delete(key);
    const owner = this.#borrowed.delete(key) ? this.#current : undefined;
    if (owner === undefined) this.#account.release(bytes);
    else owner.#bytes.set(key, bytes);
  }

  /** The next state becomes the current one; borrowed charges stay with it. */
  replaceCurrent(): void {
    this.#current?.clear();
    this.#current = undefined;
    this.#borrowed.clear();
  }

  /** The next state is not reached. Has no effect once it is the current one. */
  discard(): void {
    if (this.#current !== undefined) this.clear();
  }

  clear(): void {
    for (const key of [...this.#bytes.keys()]) this.delete(key);
  }
}
