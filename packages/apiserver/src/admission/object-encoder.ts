/**
 * Encodes the objects of a request for the webhooks that receive them in one version. Mutating
 * webhooks change the object one after the other: all its states use the same memory, because none
 * is sent when the next is encoded.
 */
import { runSyncFirst } from "@kcp-ts/machinery/base";
import type { WorkBudget } from "@kcp-ts/machinery/bounds";
import { countValues, type JsonObject, stringifyResumable } from "@kcp-ts/machinery/json";

/** The objects in the version of one kind. */
export interface VersionedObjects {
  readonly object: JsonObject | null;
  readonly old: JsonObject | null;
}

export interface EncodedObjects {
  readonly object: Uint8Array;
  readonly old: Uint8Array;
}

/** The room for the changes of further webhooks. */
const spareBytes = 4 << 10;

export class ObjectEncoder {
  readonly #budget: WorkBudget;
  #state: JsonObject | null | undefined;
  #encoded: Promise<EncodedObjects> | undefined;
  #old: Uint8Array | undefined;
  #memory = new Uint8Array(0);

  /** `budget` counts the values of all states. */
  constructor(budget: WorkBudget) {
    this.#budget = budget;
  }

  /** `state` identifies the state of the object: the same objects are not encoded again. */
  encode(
    state: JsonObject | null,
    objects: () => Promise<VersionedObjects>,
  ): Promise<EncodedObjects> {
    if (this.#encoded === undefined || this.#state !== state) {
      this.#state = state;
      this.#encoded = this.#encode(objects);
    }
    return this.#encoded;
  }

  async #encode(objects: () => Promise<VersionedObjects>): Promise<EncodedObjects> {
    const { object, old } = await objects();
    this.#budget.charge(countValues(object));
    this.#old ??= Buffer.from(await runSyncFirst(stringifyResumable(old)));
    return { object: this.#write(await runSyncFirst(stringifyResumable(object))), old: this.#old };
  }

  #write(text: string): Uint8Array {
    const length = Buffer.byteLength(text);
    if (length > this.#memory.length)
      this.#memory = new Uint8Array(Math.ceil(length * 1.1) + spareBytes);
    const { buffer } = this.#memory;
    Buffer.from(buffer).write(text);
    return new Uint8Array(buffer, 0, length);
  }
}
