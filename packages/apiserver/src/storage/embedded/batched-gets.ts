/**
 * Batches reads of single records within one turn into one read of the engine: a round trip to
 * another thread costs more than the record.
 */
import type { EngineView } from "./engine.ts";

/** A larger number of reads is split over several threads. */
export const batchedGetsMax = 16;

interface PendingGet {
  readonly key: string;
  readonly resolve: (record: Buffer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class BatchedGets {
  #pending: PendingGet[] = [];

  /** Never throws: a missing engine is a rejection, too. */
  get(key: string, engine: () => EngineView): Promise<Buffer | undefined> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ key, resolve, reject });
      if (this.#pending.length === 1) queueMicrotask(() => this.#readAll(engine));
    });
  }

  #readAll(engine: () => EngineView): void {
    const asked = this.#pending;
    this.#pending = [];
    for (let at = 0; at < asked.length; at += batchedGetsMax)
      void read(asked.slice(at, at + batchedGetsMax), engine);
  }
}

async function read(asked: readonly PendingGet[], engine: () => EngineView): Promise<void> {
  try {
    const [first] = asked;
    const records =
      asked.length === 1 && first !== undefined
        ? [await engine().get(first.key)]
        : await engine().getMany(asked.map(({ key }) => key));
    for (const [index, { resolve }] of asked.entries()) resolve(records[index]);
  } catch (error) {
    for (const { reject } of asked) reject(error);
  }
}
