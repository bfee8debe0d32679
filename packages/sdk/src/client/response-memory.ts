/**
 * The memory that responses of an untrusted server may take. Clients that share an account share
 * its limit: a tenant with many servers takes no more than one with a single server.
 */
import { TransportError } from "./transport.ts";

export interface MemoryAccount {
  /** Reserves bytes; false, without a reservation, when a limit is reached. */
  tryTake(bytes: number): boolean;
  release(bytes: number): void;
}

export interface ResponseMemory {
  /** Bytes of responses that are not parsed yet. */
  readonly buffers: MemoryAccount;
  /** Objects in the stores of informers. */
  readonly objects: MemoryAccount;
  /** Long documents are read and parsed one after another. */
  readonly longDocuments?: ExclusiveLane;
}

/** Admits one holder at a time, in the order of arrival. */
export class ExclusiveLane {
  #last: Promise<void> = Promise.resolve();

  /** Resolves to the function that leaves, when all earlier holders have left. */
  async enter(): Promise<() => void> {
    const before = this.#last;
    let leave = () => {};
    this.#last = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    return leave;
  }
}

/** Bytes from which a document is long: parsed, it takes a multiple of them. */
const longBytesMin = 256 << 10;

/** The bytes that one reader of a response holds; any number of them without an account. */
export class HeldBytes {
  readonly #account: MemoryAccount | undefined;
  #bytes = 0;
  #leave: (() => void) | undefined;

  constructor(account: MemoryAccount | undefined) {
    this.#account = account;
  }

  /** Waits, once the document is long, until no other long document is held. */
  async waitIfLong(lane: ExclusiveLane | undefined): Promise<void> {
    if (lane !== undefined && this.#bytes > longBytesMin) this.#leave ??= await lane.enter();
  }

  /** Throws a TransportError when the account has no room for them. */
  set(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more > 0 && this.#account?.tryTake(more) === false) throw outOfMemoryError();
    if (more < 0) this.#account?.release(-more);
    this.#bytes = bytes;
  }

  add(bytes: number): void {
    this.set(this.#bytes + bytes);
  }

  release(): void {
    this.set(0);
    this.#leave?.();
    this.#leave = undefined;
  }
}

export function outOfMemoryError(): TransportError {
  return new TransportError(
    "connection-lost",
    "the responses and objects of this server, and of others that share its limit, take more memory than they may",
  );
}

const valueBytes = 16;

/** The memory of a JSON value, about; a string of other scripts takes twice as much. */
export function approximateBytes(value: unknown): number {
  if (typeof value === "string") return valueBytes + value.length;
  if (typeof value !== "object" || value === null) return valueBytes;
  let bytes = valueBytes;
  if (Array.isArray(value)) {
    for (const item of value) bytes += approximateBytes(item);
    return bytes;
  }
  for (const [key, member] of Object.entries(value))
    bytes += key.length + valueBytes + approximateBytes(member);
  return bytes;
}
