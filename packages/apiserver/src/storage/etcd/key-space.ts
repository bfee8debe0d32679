/**
 * Maps storage keys to etcd: storage key `/a/b` is etcd key `<prefix>/a/b`.
 *
 * All ranges stay inside `<prefix>/`, so that other programs may use the same etcd.
 */
import { assert } from "@kcp-ts/machinery/base";
import type { StorageKey } from "../key.ts";

export interface KeyRange {
  readonly key: Uint8Array;
  readonly rangeEnd: Uint8Array;
}

export class KeySpace {
  readonly prefix: string;
  readonly #prefixBytes: number;

  constructor(prefix: string) {
    this.prefix = prefix.replace(/\/+$/, "");
    this.#prefixBytes = Buffer.byteLength(this.prefix);
  }

  /**
   * A key of the prefix that no object has and that no range of objects contains. For calls that
   * only need the header of the response, and for markers in the history.
   */
  get root(): Uint8Array {
    return Buffer.from(`${this.prefix}/`);
  }

  isRoot(key: Uint8Array): boolean {
    return key.length === this.#prefixBytes + 1;
  }

  /** All objects and the root. */
  get everything(): KeyRange {
    return { key: this.root, rangeEnd: successor(this.root) };
  }

  encode(key: StorageKey): Uint8Array {
    assert(key.startsWith("/"), `a storage key starts with a slash: ${key}`);
    return Buffer.from(this.prefix + key);
  }

  decode(bytes: Uint8Array): StorageKey {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return text.toString("utf8", this.#prefixBytes) as StorageKey;
  }

  /** The keys under a prefix, after `continueAfter` if given. */
  range(prefix: StorageKey, continueAfter?: StorageKey): KeyRange {
    const whole = prefix === "" || prefix === "/";
    const start = whole ? Buffer.concat([this.root, zeroByte]) : this.encode(prefix);
    const rangeEnd = successor(whole ? this.root : start);
    if (continueAfter === undefined) return { key: start, rangeEnd };
    const behind = Buffer.concat([this.encode(continueAfter), zeroByte]);
    return { key: Buffer.compare(behind, start) > 0 ? behind : start, rangeEnd };
  }
}

const zeroByte = Buffer.from([0]);

/** The first key that does not start with `prefix`. */
function successor(prefix: Uint8Array): Uint8Array {
  const end = Buffer.from(prefix);
  const last = end.length - 1;
  // Prefixes are UTF-8, which has no byte 0xff, so adding one never carries.
  end[last] = (end[last] as number) + 1;
  return end;
}
