/** Looks once at every stored object of some kinds, page by page, without holding anything up. */
import { collectionKeyOf, type ResourceDefinition } from "../registry/index.ts";
import { otherWork } from "../request/other-work.ts";
import { type Entry, resourcePrefix, type Storage, type StorageKey } from "../storage/index.ts";

export interface Look {
  readonly definition: ResourceDefinition;
  readonly look: (entry: Entry) => void;
}

const pageEntries = 200;

export class Survey {
  readonly #storage: Storage;
  readonly #onError: (error: unknown) => void;
  readonly #stopping = new AbortController();

  constructor({ storage, onError }: { storage: Storage; onError: (error: unknown) => void }) {
    this.#storage = storage;
    this.#onError = onError;
  }

  run(looks: readonly Look[]): void {
    this.#run(looks).catch((error) => {
      if (!this.#stopping.signal.aborted) this.#onError(error);
    });
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #run(looks: readonly Look[]): Promise<void> {
    const { signal } = this.#stopping;
    for (const { definition, look } of looks) {
      const prefix = resourcePrefix(collectionKeyOf(definition));
      for (let continueAfter: StorageKey | undefined; ; ) {
        const page = await this.#storage.list(prefix, {
          signal,
          entriesMax: pageEntries,
          continueAfter,
        });
        for (const entry of page.entries) look(entry);
        if (!page.more || signal.aborted) break;
        continueAfter = page.entries.at(-1)?.key;
        await otherWork();
      }
    }
  }
}
